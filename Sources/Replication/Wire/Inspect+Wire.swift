extension Inspect {
  func write(to body: inout ByteWriter) {
    body.uint(number)
    body.uint(buckets.count)
    body.raw(buckets)
  }

  init(from reader: inout ByteReader) throws(WireError) {
    self.number = try reader.uint("Inspect")
    let count = try reader.count("Inspect", limit: Digest.bucketCount)
    self.buckets = try reader.raw("Inspect", count: count)
    guard zip(buckets, buckets.dropFirst()).allSatisfy({ $0 < $1 }) else {
      throw WireError(.malformed, "Inspect")
    }
  }
}

extension Account {
  func write(to body: inout ByteWriter) {
    body.uint(number)
    switch content {
    case .sums(let sums):
      body.byte(0)
      body.frontier(sums.frontier)
      body.uint(sums.rows)
      body.uint(sums.uncaptured)
      body.uint(sums.apart)
      body.word(sums.shown)
      for bucket in sums.digest.buckets { body.word(bucket) }
    case .rows(let rows, let isLast):
      body.byte(isLast ? 2 : 1)
      let tables = rows.chunked
      body.uint(tables.count)
      for rows in tables {
        body.text(rows.first?.table ?? "")
        body.uint(rows.count)
        for row in rows { row.write(to: &body) }
      }
    case .nothing(let reason):
      body.byte(3)
      body.byte(reason.rawValue)
    }
  }

  init(from reader: inout ByteReader) throws(WireError) {
    self.number = try reader.uint("Account")
    switch try reader.byte("Account") {
    case 0: self.content = .sums(try Sums(from: &reader))
    case 1: self.content = .rows(try AccountRow.list(from: &reader), isLast: false)
    case 2: self.content = .rows(try AccountRow.list(from: &reader), isLast: true)
    case 3:
      guard let reason = Reason(rawValue: try reader.byte("Account")) else {
        throw WireError(.malformed, "Account")
      }
      self.content = .nothing(reason)
    default: throw WireError(.malformed, "Account")
    }
  }
}

extension Account.Sums {
  fileprivate init(from reader: inout ByteReader) throws(WireError) {
    self.frontier = try reader.frontier("Account")
    self.rows = try reader.number("Account")
    self.uncaptured = try reader.number("Account")
    self.apart = try reader.number("Account")
    self.shown = try reader.word("Account")
    var sums: [UInt64] = []
    for _ in 0..<Digest.bucketCount { sums.append(try reader.word("Account")) }
    guard let digest = Digest(buckets: sums) else { throw WireError(.malformed, "Account") }
    self.digest = digest
  }
}

extension AccountRow {
  fileprivate func write(to body: inout ByteWriter) {
    body.blob(key.bytes)
    body.byte(state.rawValue)
    if let dot {
      body.word(dot.origin.rawValue)
      body.uint(dot.seq)
      body.uint(UInt64(stamp.rawValue))
    }
    if stands { body.word(hash) }
  }

  /// Rows by table, each of them after the one before it.
  fileprivate static func list(from reader: inout ByteReader) throws(WireError) -> [AccountRow] {
    var rows: [AccountRow] = []
    var last: Place?
    for _ in 0..<(try reader.count("Account", limit: Limits.tablesPerBatch)) {
      let table = try reader.text("Account")
      let name = Array(table.foldedForNames.utf8)
      let room = Limits.accountRows - rows.count
      let count = try reader.count("Account", limit: room)
      guard count > 0, last.map({ $0.table.lexicographicallyPrecedes(name) }) ?? true else {
        throw WireError(.malformed, "Account: the order of tables")
      }
      for _ in 0..<count {
        let row = try AccountRow(in: table, from: &reader)
        let place = Place(table: name, key: row.key)
        guard last.map({ $0 < place }) ?? true else {
          throw WireError(.malformed, "Account: the order of rows")
        }
        last = place
        rows.append(row)
      }
    }
    return rows
  }

  private init(in table: String, from reader: inout ByteReader) throws(WireError) {
    self.table = table
    self.key = Key(bytes: try reader.blob("Account", limit: Limits.wantedKey))
    guard let state = State(rawValue: try reader.byte("Account")) else {
      throw WireError(.malformed, "Account")
    }
    self.state = state
    self.stamp = .zero
    self.hash = 0
    if state != .uncaptured {
      let origin = Origin(rawValue: try reader.word("Account"))
      let seq = try reader.number("Account")
      guard seq > 0 else { throw WireError(.malformed, "Account") }
      self.dot = Dot(origin, seq)
      self.stamp = try reader.stamp("Account")
    }
    guard stands else { return }
    self.hash = try reader.word("Account")
    guard hash != 0 else { throw WireError(.malformed, "Account") }
  }
}

extension [AccountRow] {
  /// The rows of one table after the other.
  fileprivate var chunked: [ArraySlice<AccountRow>] {
    var chunks: [ArraySlice<AccountRow>] = []
    var start = 0
    for index in indices.dropFirst() where self[index].table != self[start].table {
      chunks.append(self[start..<index])
      start = index
    }
    if !isEmpty { chunks.append(self[start...]) }
    return chunks
  }
}
