/// How a table of the replica is made on the server.
enum TableCreation {
  /// The statement; a sentence instead if there can be no such table.
  static func statement(
    for site: SiteTable, as name: String, isMariaDB: Bool
  ) -> (sql: String?, reason: String?) {
    guard !site.key.isEmpty else { return (nil, "it has no primary key") }
    let names = site.columns.map(\.name) + [name.split(separator: "`").last.map(String.init) ?? ""]
    guard names.allSatisfy({ (1...64).contains($0.count) }) else {
      return (nil, "a name of more than 64 letters is none on the server")
    }
    let exact = isMariaDB ? "utf8mb4_nopad_bin" : "utf8mb4_0900_bin"
    let wide = site.key.count {
      [.text, .none, .numeric].contains(site.columns[$0].affinity)
    }
    var lines: [String] = []
    for (place, column) in site.columns.enumerated() where !column.isGenerated {
      let isKey = site.key.contains(place)
      // "The index key prefix length limit is 3072 bytes"; numbers take no more than 32.
      let room = (3_072 - 32 * (site.key.count - wide)) / max(1, wide)
      var type = Self.type(of: column, keyRoom: isKey ? room : nil, exact: exact)
      if isKey || column.isRequired { type += " NOT NULL" }
      if isKey, site.key.count == 1, column.affinity == .integer { type += " AUTO_INCREMENT" }
      lines.append("  \(serverName(column.name)) \(type)")
    }
    let key = site.key.map { serverName(site.columns[$0].name) }.joined(separator: ", ")
    lines.append("  PRIMARY KEY (\(key))")
    return (
      "CREATE TABLE \(name) (\n\(lines.joined(separator: ",\n"))\n) ENGINE=InnoDB "
        + "DEFAULT CHARACTER SET utf8mb4 COLLATE \(exact)", nil
    )
  }

  /// docs/mirror.md has the same as a table.
  private static func type(
    of column: SiteTable.Column, keyRoom: Int?, exact: String
  ) -> String {
    let declared = column.type.uppercased()
    let text = "CHARACTER SET utf8mb4 COLLATE \(exact)"
    switch column.affinity {
    case .integer: return "BIGINT"
    case .real: return "DOUBLE"
    case .none where declared.contains("BLOB"):
      return keyRoom.map { "VARBINARY(\($0))" } ?? "LONGBLOB"
    case .numeric where declared.hasPrefix("BOOL"): return "BIGINT"
    case .numeric where !declared.contains("DATE") && !declared.contains("TIME"):
      return decimal(declared) ?? "DOUBLE"
    default: return keyRoom.map { "VARCHAR(\($0 / 4)) \(text)" } ?? "LONGTEXT \(text)"
    }
  }

  /// `NUMERIC(10,2)` as a type of the server; nil if it does not say how many digits.
  private static func decimal(_ declared: String) -> String? {
    guard let match = declared.firstMatch(of: /\(\s*([0-9]{1,2})\s*(?:,\s*([0-9]{1,2})\s*)?\)/),
      let digits = Int(match.1), (1...65).contains(digits)
    else { return nil }
    let scale = match.2.flatMap { Int($0) } ?? 0
    return scale <= min(digits, 38) ? "DECIMAL(\(digits),\(scale))" : nil
  }
}
