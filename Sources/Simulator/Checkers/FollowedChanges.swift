import Replication
import SQLite
import Store

/// A program that reads what changes at one node, and does the same to a copy of the rows: the copy
/// is what the tables show, or the program was told to read them anew.
struct FollowedChanges {
  private var cursor: ChangeCursor?
  private var copy: [String: [String: String]] = [:]
  private var random: Seeded

  init(_ random: Seeded) { self.random = random }

  /// Reads a little now and then, as a program that is busy with other things.
  mutating func glance(at store: Store, _ application: Connection) throws {
    guard random.chance(300) else { return }
    _ = try read(store, application, limit: random.pick([1, 3, 100]))
  }

  /// Reads all there is, and compares.
  mutating func check(
    _ store: Store, _ application: Connection, _ history: inout History, at name: String
  ) throws {
    while try read(store, application, limit: 7) {}
    let shown = try Self.rows(store, application)
    for table in Set(shown.keys).union(copy.keys).sorted() where shown[table] != copy[table] {
      let (rows, told) = (shown[table] ?? [:], copy[table] ?? [:])
      for key in Set(rows.keys).union(told.keys).sorted() where rows[key] != told[key] {
        history.blame(
          "\(name) shows of \(table) \(key): \(rows[key] ?? "no row"), and its changes make it "
            + (told[key] ?? "none"))
        break
      }
    }
  }

  /// True if there is more.
  private mutating func read(
    _ store: Store, _ application: Connection, limit: Int
  ) throws -> Bool {
    let page = try store.feed.changes(after: cursor, limit: limit, at: 0)
    if cursor == nil || page.isAnew { copy = try Self.rows(store, application) }
    for change in page.changes {
      let key = Self.text(change.key.map { ($0.key, $0.value) })
      copy[change.table, default: [:]][key] = change.row.map(Self.text)
    }
    cursor = page.cursor
    return page.hasMore || page.isAnew
  }

  /// What the tables of the site show.
  private static func rows(
    _ store: Store, _ application: Connection
  ) throws -> [String: [String: String]] {
    var found: [String: [String: String]] = [:]
    for table in try store.trackedTables().map(\.name)
    where store.rights.right(to: table) != .none {
      guard let name = store.tables.nameHere(of: table) else { continue }
      let columns = try application.rows(
        "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1", [.string(name)]
      ).compactMap { $0[0].string }
      found[name] = [:]
      for row in try application.rows("SELECT * FROM \(quoted(name))") {
        let pairs = zip(columns, row).map { (name: $0, value: Replication.Value($1)) }
        let named = Dictionary(uniqueKeysWithValues: pairs.map { ($0.name, $0.value) })
        guard let key = try store.tables.key(of: table, named) else { continue }
        let text = text(store.tables.named(key, of: table).map { ($0.key, $0.value) })
        found[name]?[text] = Self.text(pairs)
      }
    }
    return found
  }

  private static func text(_ pairs: [(name: String, value: Replication.Value)]) -> String {
    pairs.map { "\($0.name)=\($0.value)" }.sorted().joined(separator: " ")
  }
}
