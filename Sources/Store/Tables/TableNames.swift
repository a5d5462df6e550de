import SQLite

/// Under which name this file has each table of the site.
///
/// A table keeps its *first name*, as a column does: after `ALTER TABLE person RENAME TO patient`
/// its rows still travel as those of `person`. The names of tables are kept where those of columns
/// are, as if they were the columns of a table without a name.
struct TableNames {
  /// What stands in the place of a table where the name of one is told.
  static let owner = ""

  /// The names that tables were seen to have here, by the table's local number.
  private let seen: [Int64: String]
  /// Later name, in small letters → first name, as the site says.
  private let settings: [String: String]
  /// First name, in small letters → later ones, in their order.
  private let laterNames: [String: [String]]
  /// The tables of this file, by their names in small letters.
  private let declared: [String: String]
  /// The tables that bear the triggers of a local number, and the other way round.
  private let bearers: [Int64: String]
  private let borne: [String: Int64]
  /// Names that tables had last which bear no triggers now: they are theirs before another table of
  /// the site has one of them as its own.
  private let held: [String: Int64]

  /// Those of a file that was not looked at yet.
  init() {
    (seen, settings, laterNames, declared) = ([:], [:], [:], [:])
    (bearers, borne, held) = ([:], [:], [:])
  }

  init(
    seen: [Int64: String], settings: [String: String], among objects: StoredObjects
  ) {
    self.seen = seen
    declared = objects.tables
    let settings = Dictionary(
      settings.map { (folded($0.key), $0.value) }, uniquingKeysWith: { $1 })
    self.settings = settings
    laterNames = Dictionary(grouping: settings.keys.sorted()) { folded(settings[$0] ?? "") }
    bearers = objects.bearers
    borne = Dictionary(
      bearers.map { (folded($0.value), $0.key) }, uniquingKeysWith: { min($0, $1) })
    held = Dictionary(
      seen.filter { objects.bearers[$0.key] == nil }.map { (folded($0.value), $0.key) },
      uniquingKeysWith: { min($0, $1) })
  }

  /// The name of a table in this file, or the one that it had when it was here last.
  ///
  /// What bears its triggers is the table: they go along with `ALTER TABLE … RENAME`. But a
  /// migration that makes it anew may give the old one another name for a moment. If nothing bears
  /// them, it is what it was seen as last, or what has its first name.
  func here(_ id: Int64, _ first: String) -> String {
    if let name = bearers[id], !TableSchema.isReserved(name), !isScratch(name, id, first) {
      return name
    }
    let names = [seen[id], first].compactMap(\.self).filter(isHere)
    return names.first { isFree($0, for: id) } ?? last(id, first)
  }

  /// The name that it had when it was looked at last.
  func last(_ id: Int64, _ first: String) -> String { seen[id] ?? first }

  /// Whether a table of the site is here: not one that another table has left behind.
  func isPresent(_ id: Int64, _ first: String) -> Bool {
    let name = here(id, first)
    return isHere(name) && (borne[folded(name)] == id || isFree(name, for: id))
  }

  private func isFree(_ name: String, for id: Int64) -> Bool {
    let name = folded(name)
    return borne[name] == nil && held[name, default: id] == id
  }

  /// Whether it is here under another name than when it was looked at last.
  func isOutdated(_ id: Int64, _ first: String) -> Bool {
    isPresent(id, first) && !isSameName(here(id, first), last(id, first))
  }

  /// The table that bears the triggers of a local number.
  func bearer(of id: Int64) -> String? { bearers[id] }

  private func isScratch(_ name: String, _ id: Int64, _ first: String) -> Bool {
    guard !isSameName(name, first) else { return false }
    let known = Set([first, last(id, first)].map(folded))
    return ScratchName.original(of: name, among: known) != nil
  }

  /// Tables of this file which the site, as other machines say, calls so.
  func others(_ first: String) -> [String] {
    laterNames[folded(first), default: []].filter { borne[$0] == nil }.compactMap { declared[$0] }
  }

  /// The later names of each table of the site, by its name in small letters; some of them, where
  /// somebody has made up very many.
  func later() -> [String: [String]] {
    laterNames.mapValues { Array($0.prefix(16)) }
  }

  /// What the site calls a table that was renamed, on whatever machine.
  func first(of name: String) -> String? { settings[folded(name)] }

  private func isHere(_ name: String) -> Bool { declared[folded(name)] != nil }
}
