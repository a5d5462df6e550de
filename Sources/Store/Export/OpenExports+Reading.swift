import Replication
import SQLite

/// Reading what peers lack, batch by batch.
extension OpenExports {
  /// The next batch of an export.
  func read(_ id: Int64, _ pace: Pace, at now: Instant) throws(StoreError) -> ExportStep {
    guard let export = self[id] else {
      throw StoreError(.sqlite, "the export is closed")
    }
    export.cutIfSpent(at: now, pace)
    if let cut = export.cut { return try cut.get() }
    if let long = export.long { return readOn(long, export, pace) }
    do {
      return try readBatch(export, pace)
    } catch {
      throw StoreError.wrapping(error)
    }
  }

  @_optimize(speed)
  private func readBatch(_ export: Export, _ pace: Pace) throws -> ExportStep {
    var writer = RowBatchWriter()
    while writer.size < pace.batchBytes, writer.rowCount < pace.batchRows {
      guard let item = try next(export) else { break }
      guard let table = export.tables[item.table], export.passes(item, of: table.name) else {
        continue
      }
      if let buckets = export.buckets,
        !buckets.contains(Digest.bucket(table: table.seed, key: item.key))
      {
        continue
      }
      switch try found(item, table, export, pace) {
      case nil: break
      case .long where !writer.isEmpty:
        // It travels alone.
        push(back: item, export)
        return batch(writer)
      case .long(let row): return readOn(row, export, pace)
      case .row(let shape, let content):
        if !writer.isEmpty, writer.size + content.size > Limits.wholeBytes / 2 {
          push(back: item, export)
          return batch(writer)
        }
        export.last = item.version.dot
        writer.add(shape, item.version, content)
      }
    }
    guard !writer.isEmpty else { return .done }
    return batch(writer)
  }

  private func batch(_ writer: RowBatchWriter) -> ExportStep {
    .batch(ExportBatch(bytes: writer.bytes, rows: UInt64(writer.rowCount), check: writer.check))
  }

  private func readOn(_ row: LongRow, _ export: Export, _ pace: Pace) -> ExportStep {
    let step = row.read(pace.pieceBytes)
    export.long = row
    if case .batch = step {
      export.long = nil
      export.last = row.version.dot
    }
    return step
  }

  private func next(_ export: Export) throws -> Export.Item? {
    if let waiting = export.waiting {
      export.waiting = nil
      return waiting
    }
    switch export.source {
    case .list(let items, let next):
      guard next < items.count else { return nil }
      export.source = .list(items, next: next + 1)
      return items[next]
    case .scan(let statement):
      while try statement.step() {
        guard let version = versions.version(from: statement, at: 0) else { continue }
        let next = VersionTable.columnCount
        return Export.Item(
          table: statement.integer(next), key: Key(bytes: statement.bytes(next + 1)),
          version: version,
          place: Export.Item.Place(rawValue: statement.integer(next + 2)) ?? .table)
      }
      // Another step would start again from the first row: "sqlite3_step() began calling
      // sqlite3_reset() automatically" after SQLITE_DONE (sqlite.org/c3ref/step.html).
      export.source = .list([], next: 0)
      return nil
    }
  }

  /// Keeps a row for the next batch.
  private func push(back item: Export.Item, _ export: Export) {
    export.waiting = item
  }

  /// A row as it travels.
  private enum Found {
    case row(TableShape, WireRow.Content)
    case long(LongRow)
  }

  /// A row from its table, from the shelf, or its key alone; nil if its table is not here.
  private func found(
    _ item: Export.Item, _ table: ReplicaTable, _ export: Export, _ pace: Pace
  ) throws -> Found? {
    let key = item.key.values ?? []
    let reader = export.connection
    if item.place != .table { return try foundBeside(item, table, reader, pace) }
    if item.version.isDeleted {
      return .row(table.keyShape(of: key), .deleted(key: key))
    }
    let shelved = try export.shelf.entry(table: item.table, key: item.key)
    if let shelved, shelved.why.isWhole {
      let shape = table.shape(shelved.values.map(\.name), keyCount: shelved.keyCount)
      let values = shelved.values.map(\.value)
      if shelved.why == .tooLarge { return .row(shape, .withheld(key: values)) }
      guard WireRow.Content.values(values).size > pace.longRow else {
        return .row(shape, .values(values))
      }
      return .long(LongRow(shape, item.version, nil, columns: 0, values: values))
    }
    guard let statements = table.statements else { return nil }
    let count = statements.shape.columns.count
    var beside = Beside()
    let (size, values) = try reader.with(statements.selectByKey, key.map(\.sqlite)) {
      (statement) throws(SQLiteError) -> (Int?, [Replication.Value]) in
      guard try statement.step() else { return (nil, []) }
      beside = try statements.beside(shelved) { Replication.Value(statement.value($0)) }
      let size =
        statement.size(count)
        + WireRow.Content.values(beside.extras.map(\.value) + beside.said.values).size
      return (size, size > pace.longRow ? [] : beside.said(statement.travelling(count)))
    }
    let shape = beside.extras.isEmpty ? statements.shape : statements.shape(with: beside.extras)
    guard let size else {
      // Somebody wrote with triggers switched off. The comparison that follows makes it a delete.
      export.suspects.insert(table.id)
      return .row(statements.shape, .withheld(key: key))
    }
    guard size > pace.longRow else {
      return .row(shape, .values(values))
    }
    guard size <= Limits.row else { return .row(statements.shape, .withheld(key: key)) }
    let statement = try reader.prepare(statements.selectByKey)
    try statement.bind(key.map(\.sqlite))
    guard try statement.step() else { return nil }
    return .long(
      LongRow(
        shape, item.version, statement, columns: count, instead: beside.said,
        values: beside.extras.map(\.value)))
  }

  /// What does not stand: a version that waits for the anchor, or a ruling.
  private func foundBeside(
    _ item: Export.Item, _ table: ReplicaTable, _ reader: Connection, _ pace: Pace
  ) throws -> Found? {
    let key = item.key.values ?? []
    if item.place == .ruling {
      let found = try rulings.item(item.version.dot, on: reader)
      return found.map { .row(table.keyShape(of: key), .ruling($0.ruling, key: key)) }
    }
    let entry = try pending.entry(
      PendingTable.Item(table: item.table, key: item.key, version: item.version), on: reader)
    let row = table.shaped(item.version, entry, item.key)
    guard row.row.content.size > pace.longRow else { return .row(row.shape, row.row.content) }
    return .long(
      LongRow(row.shape, item.version, nil, columns: 0, values: row.row.values))
  }
}
