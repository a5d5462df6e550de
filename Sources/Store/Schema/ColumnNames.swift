import Replication

/// Under which name the site knows each column of one table.
///
/// A column keeps its *first name*: after `RENAME COLUMN name TO full_name` its values still
/// travel, and are still hashed, as `name`. So a machine that has renamed and one that has not yet
/// show the same values, whatever either of them writes meanwhile.
struct ColumnNames: Equatable {
  /// A column as it was when the schema of this file was last looked at.
  struct Known: Equatable {
    var name: String
    /// All of its declaration but the name (`Column.declaration`).
    var declaration: String
    var first: String
    /// Whether it takes no NULL, and once did here.
    var hasOutgrownNull = false

    init(name: String, declaration: String, first: String, hasOutgrownNull: Bool = false) {
      (self.name, self.declaration, self.first) = (name, declaration, first)
      self.hasOutgrownNull = hasOutgrownNull
    }

    /// From what is kept of it: `declaration`, and behind that whether it has outgrown NULL.
    init(name: String, kept: String, first: String) {
      let isMarked = kept.hasSuffix(Self.mark)
      self.init(
        name: name, declaration: isMarked ? String(kept.dropLast(Self.mark.count)) : kept,
        first: first, hasOutgrownNull: isMarked)
    }

    /// What is kept of it.
    var kept: String { hasOutgrownNull ? declaration + Self.mark : declaration }

    private static let mark = " took NULL"

    /// Whether it takes NULL, or did once; an empty declaration does not tell.
    var hasTakenNull: Bool {
      let parts = declaration.split(separator: "|", maxSplits: 3, omittingEmptySubsequences: false)
      return hasOutgrownNull || parts.count == 4 && parts[2].isEmpty
    }

    /// Whether it is computed from others: it counts nothing.
    var isGenerated: Bool {
      let parts = declaration.split(separator: "|", maxSplits: 4, omittingEmptySubsequences: false)
      return parts.count == 5 && parts[3] == "generated"
    }

    /// Whether it belongs to the key: its place there is the last part of the declaration.
    var isOfKey: Bool { !declaration.hasSuffix("|") }

    /// The default in the declaration, of which it is the last part but one.
    var defaultText: Substring {
      let parts = declaration.split(separator: "|", maxSplits: 4, omittingEmptySubsequences: false)
      let rest = parts.last ?? ""
      return rest[..<(rest.lastIndex(of: "|") ?? rest.endIndex)]
    }
  }

  /// What a table of the site is told about a name: the setting `(table, name)` → first name.
  typealias Settings = [(name: String, first: String)]

  /// For each column of the schema.
  let firsts: [String]
  /// Names, in small letters, under which values may come from machines that have not heard of a
  /// rename, and the column of the schema that they are for.
  let aliases: [String: Int]
  /// For each column of the schema, whether it took NULL when it was looked at before.
  let haveTakenNull: [Bool]

  /// A column that was just renamed has the first name of the one that it was. Else the site's
  /// settings say it; else it keeps the first name that it had; else it has its own.
  ///
  /// `renamed` tells the renames that were recognised: new name, in small letters → first name.
  init(
    of columns: [String], known: [Known], renamed: [String: String] = [:], settings: Settings
  ) {
    let names = columns.map(folded)
    let nullable = Set(known.filter(\.hasTakenNull).map { folded($0.first) })
    let known = Dictionary(known.map { (folded($0.name), $0.first) }, uniquingKeysWith: { $1 })
    let settings = Dictionary(
      settings.map { (folded($0.name), $0.first) }, uniquingKeysWith: { $1 })
    var firsts: [String?] = columns.map { _ in nil }
    var taken: Set<String> = []
    // All names travel together: those of others may be so much longer than the columns' own ones.
    var room = Limits.namesBytes - columns.reduce(0) { $0 + $1.utf8.count }
    func take(_ first: String?, _ index: Int, isNumbered: Bool = false) {
      guard let first, firsts[index] == nil, Limits.carries(first) else { return }
      let (more, spellings) = (
        first.utf8.count - columns[index].utf8.count, ShapeNames.spellings(of: first)
      )
      guard more <= max(0, room) || isNumbered, taken.isDisjoint(with: spellings) else { return }
      taken.formUnion(spellings)
      room -= max(0, more)
      firsts[index] = first
    }
    for (index, name) in names.enumerated() { take(renamed[name], index) }
    // Where machines have taken a column for different ones the settings decide. But they do not
    // give a first name to one column that another one here is known to bear, unless that has got
    // another one by them: `b` became `c`, and what was `c` before is `d`.
    var bearers = Dictionary(
      names.filter { renamed[$0] == nil }.compactMap { name in
        known[name].map { (folded($0), name) }
      }, uniquingKeysWith: { $1 })
    var queue = Array(names.indices)
    var (next, behind): (Int, [String: [Int]]) = (0, [:])
    while next < queue.count {
      let (index, name) = (queue[next], names[queue[next]])
      next += 1
      guard firsts[index] == nil, let first = settings[name] else { continue }
      guard bearers[folded(first), default: name] == name else {
        behind[folded(first), default: []].append(index)
        continue
      }
      take(first, index)
      guard firsts[index] != nil, let former = known[name], !isSameName(former, first)
      else { continue }
      bearers[folded(former)] = nil
      queue += behind.removeValue(forKey: folded(former)) ?? []
    }
    for (index, name) in names.enumerated() { take(known[name], index) }
    for (index, column) in columns.enumerated() { take(column, index) }
    for (index, column) in columns.enumerated() {
      var count = 2
      while firsts[index] == nil {
        take(Self.numbered(column, count), index, isNumbered: true)
        count += 1
      }
    }
    self.firsts = firsts.map { $0 ?? "" }
    self.haveTakenNull = self.firsts.map { nullable.contains(folded($0)) }
    var aliases: [String: Int] = [:]
    for (name, first) in settings where !taken.contains(name) {
      aliases[name] = self.firsts.firstIndex { isSameName($0, first) }
    }
    self.aliases = aliases
  }

  /// A name that is taken, with a number, and so much of it as can travel beside that.
  private static func numbered(_ name: String, _ count: Int) -> String {
    let ending = "~\(count)"
    var start = name
    while start.utf8.count + ending.utf8.count > Limits.name { start.unicodeScalars.removeLast() }
    return start + ending
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
        first: names.firsts[index],
        hasOutgrownNull: column.isNotNull && names.haveTakenNull[index])
    }
  }
}
