import Replication
import SQLite
import Store

/// What a program that acts for others must know of this replica first.
package struct OwnStanding: Sendable {
  private struct Table: Sendable {
    /// How the site called it first: rights go by that, and stay when it is renamed.
    var first: String
    var here: String
    var right: TableRight
  }

  /// By the bytes of their names in this file, in small letters.
  private let tables: [[UInt8]: Table]
  /// What this node may do with every table.
  private let least: TableRight
  /// The time of the site in ms since 1970; that of this machine while it is not known.
  package let siteTime: Int64
  /// By which things grow old; nil while that is not known.
  package let ageing: Int64?
  /// The schema in which the tables have these names, as `PRAGMA schema_version` counts it.
  package let schema: Int64

  init(_ store: Store, of schema: Int64, at now: Instant) {
    (siteTime, ageing, self.schema) = (now.moment, now.ageing, schema)
    let rights = store.rights
    least = TableRight(rights.tables.values.reduce(rights.general) { min($0, $1) })
    let known = store.tableRights().map { table in
      let entry = Table(first: table.first, here: table.here, right: TableRight(table.right))
      return (Self.folded(table.here), entry)
    }
    tables = Dictionary(known) { first, _ in first }
  }

  private static func folded(_ name: String) -> [UInt8] { Array(name.foldedForNames.utf8) }

  /// What this node itself may do with a table. Of one that has got its name since no more is known
  /// than what holds for all.
  package func right(to table: String) -> TableRight { tables[Self.folded(table)]?.right ?? least }

  /// What a client may do with a table: no more than this node.
  package func right(of token: AccessToken, to table: String) -> TableRight {
    guard let known = tables[Self.folded(table)] else { return min(least, token.least) }
    return min(known.right, token.right(to: known.first, here: known.here))
  }

  /// A token of a version before with the first names of its tables. One that names a table that is
  /// not known here stays as it is: it may come yet, under either name.
  func renamed(_ token: AccessToken) -> AccessToken {
    guard token.namesFirst != true else { return token }
    var rights: [String: TableRight] = [:]
    for (name, right) in token.tables {
      guard let table = name == AccessToken.everything ? name : first(of: name) else {
        return token
      }
      rights[table] = min(right, rights[table] ?? right)
    }
    var token = token
    (token.tables, token.namesFirst) = (rights, true)
    return token
  }

  /// The tables that a token of a version before names and that are not known here. As long as
  /// there are any it stays as it is.
  package func unknownTables(of token: AccessToken) -> [String] {
    guard token.namesFirst != true else { return [] }
    return token.tables.keys.sorted()
      .filter { $0 != AccessToken.everything && first(of: $0) == nil }
  }

  /// How the site called first what people call so; nil if there is no such table.
  func first(of name: String) -> String? {
    tables[Self.folded(name)]?.first
      ?? tables.values.first { isSameName($0.first, name) }?.first
  }

  /// The rights of a token, by the names that tables have here.
  package func tables(of token: AccessToken) -> [String: String] {
    let names = Dictionary(tables.values.map { ($0.first, $0.here) }) { first, _ in first }
    let rights = token.tables.map { (names[$0.key] ?? $0.key, $0.value) }
    return Dictionary(rights) { min($0, $1) }.mapValues(\.rawValue)
  }
}

extension TableRight {
  init(_ right: Right) {
    self =
      switch right {
      case .none: .none
      case .read: .read
      case .write: .write
      }
  }
}

extension Replica {
  package func ownStanding() async throws(FlotillaError) -> OwnStanding {
    // Before the names are read: if they change meanwhile, they are of a later one.
    let schema = try schemaVersion()
    return try await withFile { store throws(StoreError) in
      OwnStanding(store, of: schema, at: try NodeClock(store, .here).now)
    }
  }

  private func schemaVersion() throws(FlotillaError) -> Int64 {
    let connection = try OpeningCheck(path: path, sidecar: sidecar).open()
    do {
      return try connection.schemaVersion()
    } catch {
      throw FlotillaError(error, path: path)
    }
  }
}
