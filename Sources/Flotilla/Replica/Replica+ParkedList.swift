import Replication
import SQLite
import Store

/// Parked rows, read one after the other: a member may have filled each with 64 MiB.
extension Replica {
  /// So many rows are told what is in their way, at most.
  private static let mostExplained = 1_000

  /// All of them or the one of that name; of long values the beginning, or all of them.
  func parkedRows(
    cutTo longest: Int?, named id: String? = nil
  ) async throws(FlotillaError) -> [ConflictReport.Parked] {
    let file = sidecar.database
    return try await withFile { store throws(StoreError) in
      let asked = try store.tableSurvey.askedTables()
      // A remark must not make the command fail.
      let hindrance = try? Hindrance(path: file)
      var found: [ConflictReport.Parked] = []
      var count = 0
      try store.tableSurvey.eachParkedRow { row in
        if let id, row.id != id { return true }
        var parked = ConflictReport.Parked(
          id: row.id, table: row.table, key: Self.key(row.key, of: row.table, in: store),
          key_columns: store.tables.keyNames(of: row.key, of: row.table), why: row.why,
          row: Self.row(row.values))
        parked.because = row.stray.map {
          "\($0.column): another row of \($0.parent) has the number of the one that is meant"
        }
        if row.why == "table", asked.contains(row.table) {
          parked.because = "this file has its own of that name, about which status asks"
        }
        if parked.because == nil, Self.isKeptOut(row.why), count < Self.mostExplained {
          count += 1
          parked.because = try? hindrance?.words(
            row.table, key: parked.key, row: parked.row, isWaiting: row.why != "constraint")
        }
        found.append(longest.map(parked.cut) ?? parked)
        // Two may have one name, and each of them may be meant.
        return id == nil || found.count < 2
      }
      return found
    }
  }
}

extension ConflictReport.Parked {
  /// So many bytes a list shows of a value.
  static let longest = 1_024

  /// The same with the beginning of what is longer than so many bytes.
  func cut(to longest: Int) -> ConflictReport.Parked {
    var parked = self
    var columns: Set<String> = []
    for (column, value) in row {
      guard let part = value.cut(to: longest) else { continue }
      parked.row[column] = part
      columns.insert(column)
    }
    for (column, value) in key {
      guard let part = value.cut(to: longest) else { continue }
      parked.key[column] = part
      columns.insert(column)
    }
    if let because, because.utf8.count > longest {
      parked.because = String(decoding: because.utf8.prefix(longest), as: UTF8.self) + "…"
    }
    if !columns.isEmpty { parked.cut = columns.sorted() }
    return parked
  }
}

extension SQLValue {
  /// The beginning of a value of more than so many bytes; nil if it has no more.
  fileprivate func cut(to longest: Int) -> SQLValue? {
    switch self {
    case .null, .integer, .real: return nil
    case .blob(let bytes): return bytes.count > longest ? .blob(Array(bytes.prefix(longest))) : nil
    case .malformedText(let bytes):
      return bytes.count > longest ? .malformedText(Array(bytes.prefix(longest))) : nil
    case .text(let text):
      guard text.utf8.count > longest else { return nil }
      // By scalars, of at most four bytes: one Character may be of any length.
      var size = 0
      let part = text.unicodeScalars.prefix { scalar in
        size += UTF8.width(scalar)
        return size <= longest
      }
      return .text(String(part))
    }
  }
}
