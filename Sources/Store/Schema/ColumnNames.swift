/// Under which name the site knows each column of one table.
///
/// A column keeps its *first name*: after `RENAME COLUMN name TO full_name` its values still travel,
/// and are still hashed, as `name`. So a machine that has renamed and one that has not yet show the
/// same values, whatever either of them writes meanwhile.
struct ColumnNames: Equatable {
  /// A column as it was when the schema of this file was last looked at.
  struct Known: Equatable {
    var name: String
    /// All of its declaration but the name (`Column.declaration`).
    var declaration: String
    var first: String
  }

  /// What a table of the site is told about a name: the setting `(table, name)` → first name.
  typealias Settings = [(name: String, first: String)]

  /// For each column of the schema.
  let firsts: [String]
  /// Names, in small letters, under which values may come from machines that have not heard of a
  /// rename, and the column of the schema that they are for.
  let aliases: [String: Int]

  /// Columns keep the first names that they had. A new one has that of the column which it renames;
  /// else what the site's settings say, unless another column here bears that; else its own.
  ///
  /// `renamed` tells the renames that were recognised: new name, in small letters → first name.
  init(
    of columns: [String], known: [Known], renamed: [String: String] = [:], settings: Settings
  ) {
    let names = columns.map(folded)
    let known = Dictionary(known.map { (folded($0.name), $0.first) }, uniquingKeysWith: { $1 })
    let settings = Dictionary(
      settings.map { (folded($0.name), $0.first) }, uniquingKeysWith: { $1 })
    var firsts: [String?] = columns.map { _ in nil }
    var taken: Set<String> = []
    func take(_ first: String?, _ index: Int) {
      guard let first, firsts[index] == nil, taken.insert(folded(first)).inserted else { return }
      firsts[index] = first
    }
    for (index, name) in names.enumerated() { take(renamed[name], index) }
    for (index, name) in names.enumerated() where known[name].map(folded) != name {
      take(known[name], index)
    }
    // A column that is new here, or was never renamed here, may be one that others have renamed.
    for (index, name) in names.enumerated() where known[name] == nil {
      guard let first = settings[name], known[folded(first)] == nil || !names.contains(folded(first))
      else { continue }
      take(first, index)
    }
    for (index, name) in names.enumerated() where known[name] != nil {
      guard let first = settings[name], !names.contains(folded(first)) else { continue }
      take(first, index)
    }
    for (index, column) in columns.enumerated() { take(column, index) }
    for (index, column) in columns.enumerated() {
      var count = 2
      while firsts[index] == nil {
        take("\(column)~\(count)", index)
        count += 1
      }
    }
    self.firsts = firsts.map { $0 ?? "" }
    var aliases: [String: Int] = [:]
    for (name, first) in settings where !taken.contains(name) {
      aliases[name] = self.firsts.firstIndex { isSameName($0, first) }
    }
    self.aliases = aliases
  }
}

extension Column {
  /// What stays the same when a column gets another name.
  func declaration(keyPlace: Int?) -> String {
    [
      type.uppercased(), collation, isNotNull ? "not null" : "", isGenerated ? "generated" : "",
      defaultText ?? "", keyPlace.map { "key \($0)" } ?? "",
    ].joined(separator: "|")
  }
}

extension TableSchema {
  /// The columns as they are kept, to know a rename by.
  func known(_ names: ColumnNames) -> [ColumnNames.Known] {
    columns.enumerated().map { index, column in
      ColumnNames.Known(
        name: column.name, declaration: column.declaration(keyPlace: key.firstIndex(of: index)),
        first: names.firsts[index])
    }
  }
}
