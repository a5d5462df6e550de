import SQLite

/// A table of the replica and the one of the server that is kept equal to it. Every row on its way
/// refers to one, so it is not copied.
final class TableLink: Sendable, Equatable {
  struct Column: Sendable, Equatable {
    /// Its place in the table of the replica.
    var place: Int
    var name: String
    var serverName: String
    var takesNull: Bool
    var form: ColumnForm
  }

  /// By which the server's side of the mirror knows it.
  let number: Int
  let site: SiteTable
  let server: ServerTable
  let columns: [Column]
  /// The places of the key's columns among `columns`.
  let key: [Int]

  init(number: Int, site: SiteTable, server: ServerTable, columns: [Column], key: [Int]) {
    (self.number, self.site, self.server) = (number, site, server)
    (self.columns, self.key) = (columns, key)
  }

  static func == (one: TableLink, other: TableLink) -> Bool {
    one === other
      || one.number == other.number && one.site == other.site && one.server == other.server
        && one.columns == other.columns && one.key == other.key
  }

  /// The values of a row's key.
  func key(of row: [Value]) -> [Value] { key.map { row[$0] } }

  func affinity(ofKey place: Int) -> Affinity { columns[key[place]].form.affinity }

  /// The columns of the server that make up the key.
  var serverKey: [String] { key.map { columns[$0].serverName } }

  /// Whether a row of the server has no columns but these.
  var isWhole: Bool { server.columns.count { !$0.isGenerated } == columns.count }

  /// Of what kind the values of its columns come from the server.
  var shapes: [ServerStatement.Shape] { columns.map { $0.form.kind.shape } }

  /// What stands for the values of a key in a statement that looks for it.
  var keyMarks: [String] { key.map { columns[$0].form.kind.mark } }

  /// What stands against keeping two tables equal; a link if nothing does. As long as the key is
  /// one on both sides a link can be `noted`: which rows go there is known, whatever else does not
  /// fit.
  static func plan(
    _ site: SiteTable, _ server: ServerTable, number: Int
  ) -> (link: TableLink?, noted: TableLink?, reasons: [String]) {
    var reasons: [String] = []
    if !server.isTransactional { reasons.append("it is not InnoDB, so nothing is ever undone") }
    var columns: [Column] = []
    for (place, column) in site.columns.enumerated() where !column.isGenerated {
      guard let other = server.column(column.name) else {
        reasons.append("the server's table has no column \(column.name)")
        continue
      }
      if other.isGenerated {
        reasons.append("the server computes \(other.name) by itself")
      } else if let kind = other.kind, kind.suits(column.affinity) {
        columns.append(
          Column(
            place: place, name: column.name, serverName: other.name,
            takesNull: other.takesNull,
            form: ColumnForm(kind: kind, affinity: column.affinity)))
      } else {
        let declared = column.type.isEmpty ? "no type" : column.type
        reasons.append("\(column.name) is \(declared) here and \(other.type) there")
      }
    }
    for column in server.columns where column.isRequired && !column.isGenerated {
      let own = site.columns.first { $0.name.lowercased() == column.name.lowercased() }
      guard own?.isGenerated ?? true else { continue }
      let found = own == nil ? "is no column here" : "SQLite computes here"
      reasons.append("the server wants a value for \(column.name), which \(found)")
    }
    let keyReasons = keyReasons(site, server)
    reasons += keyReasons
    let key = site.key.compactMap { place in columns.firstIndex { $0.place == place } }
    let link = TableLink(number: number, site: site, server: server, columns: columns, key: key)
    let isKnown = keyReasons.isEmpty && key.count == site.key.count
    return (reasons.isEmpty ? link : nil, isKnown ? link : nil, reasons)
  }

  /// Two keys are one on both sides or on none.
  private static func keyReasons(_ site: SiteTable, _ server: ServerTable) -> [String] {
    var reasons: [String] = []
    let names = site.key.map { site.columns[$0].name }
    if names.isEmpty { reasons.append("it has no primary key here") }
    if Set(names.map { $0.lowercased() }) != Set(server.key.map { $0.lowercased() }) {
      let there = server.key.isEmpty ? "none" : server.key.joined(separator: ", ")
      reasons.append("its key is \(names.joined(separator: ", ")) here and \(there) there")
    }
    return reasons + textReasons(site, server)
  }

  private static func textReasons(_ site: SiteTable, _ server: ServerTable) -> [String] {
    site.key.compactMap { place in
      let column = site.columns[place]
      if column.affinity == .text || column.affinity == .none, column.collation != "BINARY" {
        return "its key \(column.name) takes texts for one that differ (\(column.collation))"
      }
      guard let other = server.column(column.name), let collation = other.collation,
        !["utf8mb4_nopad_bin", "utf8mb4_0900_bin"].contains(collation.lowercased())
      else { return nil }
      return "the server takes keys for one that differ (\(other.name) is \(collation); "
        + "utf8mb4_nopad_bin tells 'a', 'A' and 'a ' apart)"
    }
  }
}

extension ColumnForm.Kind {
  var shape: ServerStatement.Shape {
    switch self {
    case .integer: .integer
    case .real: .real
    case .bytes: .bytes
    case .text, .choice, .decimal, .date, .time, .moment: .text
    }
  }

  /// What stands for a value that is looked for. A DECIMAL goes over as a text, and a server
  /// compares the two as floating point: 1152921504606846977 would be 1152921504606846978.
  var mark: String {
    guard case .decimal(let digits, let scale, _) = self else { return "?" }
    return "CAST(? AS DECIMAL(\(digits),\(scale)))"
  }

  /// Whether any value of such a column of SQLite can go over at all.
  func suits(_ affinity: Affinity) -> Bool {
    switch self {
    case .integer: affinity != .text
    case .real: affinity != .text
    case .text, .choice: affinity == .text || affinity == .none || affinity == .numeric
    case .bytes: affinity == .none
    case .decimal: affinity != .none
    case .date, .time, .moment: affinity == .text || affinity == .numeric || affinity == .none
    }
  }
}
