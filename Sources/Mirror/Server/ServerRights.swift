import Flotilla
import SQLite

/// What the user of a connection may do on the server, as `SHOW GRANTS` has it.
///
/// A line is `GRANT SELECT, INSERT (a, b) ON `shop`.* TO …`: a database may be a pattern with `%`
/// and `_`. "SHOW GRANTS lists privileges granted to the account […] and the current role"
/// (mariadb.com, "SHOW GRANTS").
struct ServerRights {
  private struct Grant {
    var rights: Set<String>
    /// `*` stands for any.
    var schema: String
    var table: String
  }

  private var grants: [Grant] = []
  /// Whether a trigger of a user without SUPER is refused, for there is a binary log.
  private(set) var wantsSuper = false

  init(_ lines: [String], wantsSuper: Bool = false) {
    grants = lines.compactMap(Self.grant)
    self.wantsSuper = wantsSuper
  }

  static func read(on server: ServerConnection) throws(ServerError) -> ServerRights {
    let lines = try server.rows(of: 1, "SHOW GRANTS").compactMap { $0[0].string }
    let log = try server.rows(
      of: 2, "SELECT @@GLOBAL.log_bin, @@GLOBAL.log_bin_trust_function_creators"
    ).first
    // A node of a cluster acts as if it had a binary log, and refuses with error 1419.
    let cluster = try server.rows(of: 2, "SHOW GLOBAL VARIABLES LIKE 'wsrep_on'").first
    let isLogged = log?[0].integer == 1 || cluster?[1].string?.uppercased() == "ON"
    return ServerRights(lines, wantsSuper: isLogged && log?[1].integer != 1)
  }

  /// Nil if the line grants nothing on tables, such as a role.
  private static func grant(_ line: String) -> Grant? {
    guard line.hasPrefix("GRANT "), let middle = line.firstRange(of: " ON ") else { return nil }
    let words = line[..<middle.lowerBound].dropFirst(6)
    var place = line[middle.upperBound...]
    if place.hasPrefix("TABLE ") { place = place.dropFirst(6) }
    guard let schema = name(&place), place.popFirst() == ".", let table = name(&place) else {
      return nil
    }
    // Rights to some columns of a table are not enough.
    var rights: Set<String> = []
    for word in words.split(separator: ",") where !word.contains("(") && !word.contains(")") {
      rights.insert(word.trimmed.uppercased())
    }
    return Grant(rights: rights, schema: schema, table: table)
  }

  /// Reads a name in backticks, or a star.
  private static func name(_ text: inout Substring) -> String? {
    if text.first == "*" {
      text.removeFirst()
      return "*"
    }
    guard text.popFirst() == "`" else { return nil }
    var name = ""
    while let letter = text.popFirst() {
      if letter == "`" {
        guard text.first == "`" else { return name }
        text.removeFirst()
      }
      name.append(letter)
    }
    return nil
  }

  /// Whether some line could be read: else nothing is known.
  var isKnown: Bool { !grants.isEmpty }

  func has(_ right: String, on schema: String, _ table: String? = nil) -> Bool {
    grants.contains { grant in
      let isOfIt = grant.rights.contains(right) || grant.rights.contains("ALL PRIVILEGES")
      guard isOfIt || grant.rights.contains("ALL") else { return false }
      guard grant.schema == "*" || grant.schema == schema || Self.fits(schema, grant.schema)
      else { return false }
      return grant.table == "*" || grant.table == table
    }
  }

  /// Which of the rights that a mirror needs the user lacks, in words.
  func missing(tables: [(schema: String, name: String)], creating: Set<String>, in own: String)
    -> [String]
  {
    guard isKnown else { return [] }
    let rows = ["SELECT", "INSERT", "UPDATE", "DELETE"]
    var missing: [String] = []
    func ask(_ wanted: [String], _ schema: String, _ table: String?) {
      let lacking = wanted.filter { !has($0, on: schema, table) }
      guard !lacking.isEmpty else { return }
      let place = table.map { "\(schema).\($0)" } ?? schema
      missing.append("the user lacks \(lacking.joined(separator: ", ")) on \(place)")
    }
    ask(rows + ["CREATE", "DROP"], own, nil)
    for schema in creating.subtracting([own]).sorted() { ask(["CREATE"], schema, nil) }
    for table in tables { ask(rows + ["TRIGGER"], table.schema, table.name) }
    if wantsSuper, !has("SUPER", on: "*", "*") {
      missing.append(
        "the server has a binary log, or is of a cluster: without SUPER the user may make triggers "
          + "only after SET GLOBAL log_bin_trust_function_creators = 1")
    }
    return missing
  }

  /// Whether a name is one of a pattern: `%` is any text, `_` any letter, `\` takes that away.
  static func fits(_ name: String, _ pattern: String) -> Bool {
    // The places in the name where what was read of the pattern may end.
    let letters = Array(name)
    var ends: Set<Int> = [0]
    var rest = pattern[...]
    while let letter = rest.popFirst() {
      switch letter {
      case "%": ends = Set((ends.min() ?? letters.count + 1)..<(letters.count + 1))
      case "_": ends = Set(ends.map { $0 + 1 }.filter { $0 <= letters.count })
      default:
        let wanted = letter == "\\" ? rest.popFirst() ?? letter : letter
        ends = Set(ends.filter { $0 < letters.count && letters[$0] == wanted }.map { $0 + 1 })
      }
      guard !ends.isEmpty else { return false }
    }
    return ends.contains(letters.count)
  }
}
