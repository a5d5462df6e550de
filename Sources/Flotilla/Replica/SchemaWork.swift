import Replication
import Store

extension SchemaRequest {
  /// Whether it says what something is called.
  var isName: Bool {
    switch self {
    case .map, .mapTable: true
    case .show, .letGo: false
    }
  }
}

/// Carries out what was asked about tables and columns.
struct SchemaWork {
  let store: Store
  let clock: NodeClock

  /// Gives what was done in words; nil if nothing was asked for.
  func perform(_ request: SchemaRequest) throws(StoreError) -> String? {
    switch request {
    case .show: return nil
    case .map(let table, let columns):
      var done: [String] = []
      for (old, new) in columns.sorted(by: { $0.key < $1.key }) {
        try store.map(table, old, to: new, at: clock.now)
        done.append("\(old) of \(table) is \(new) here, and its values are in their place")
      }
      return done.joined(separator: "\n")
    case .mapTable(let old, let new):
      try store.nameTable(old, new, at: clock.now)
      return "table \(old) of the site is \(new) here"
    case .letGo(let table, let columns):
      var done: [String] = []
      for column in columns {
        let rows = try store.columns.letGo(of: column, in: table)
        done.append(
          rows == 0
            ? "nothing is kept here for \(column) of \(table)"
            : "let go of \(column) in \(rows == 1 ? "1 row" : "\(rows) rows") of "
              + store.tables.nameHere(store.tables.siteName(table)))
      }
      return done.joined(separator: "\n")
    }
  }
}
