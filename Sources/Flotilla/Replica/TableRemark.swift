import SQLite

/// What the owner of one table should know, in words that begin with the table's name.
struct TableRemark: Equatable {
  /// So many tables are named in one remark.
  static let named = 4

  let table: String
  let text: String

  /// What is said of the table, without its name; nil if the text begins otherwise.
  private var saying: String? {
    let start = quoted(table) + " "
    return text.hasPrefix(start) ? String(text.dropFirst(start.count)) : nil
  }

  /// The texts; what would be said of several tables is said once.
  static func gathered(_ remarks: [TableRemark]) -> [String] {
    var told: Set<String> = []
    return remarks.compactMap { remark in
      guard let saying = remark.saying else { return remark.text }
      guard told.insert(saying).inserted else { return nil }
      let tables = remarks.filter { $0.saying == saying }.map(\.table)
      return tables.count == 1 ? remark.text : "\(list(tables)) \(plural(saying))"
    }
  }

  private static func list(_ tables: [String]) -> String {
    let names = tables.map(quoted)
    guard names.count > named else {
      return names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
    }
    return names.prefix(named).joined(separator: ", ") + " and \(names.count - named) more"
  }

  /// "has an integer key" is "have an integer key" of several.
  private static func plural(_ saying: String) -> String {
    for (one, many) in [("has ", "have "), ("uses ", "use ")] where saying.hasPrefix(one) {
      return many + saying.dropFirst(one.count)
    }
    return saying
  }
}
