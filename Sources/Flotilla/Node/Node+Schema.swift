import Replication
import Store

extension Node {
  /// Shows the columns of the replicated tables; before that says that tables or columns were
  /// renamed, or lets go of what is kept for columns that are not here.
  func schema(_ request: SchemaRequest) async throws(FlotillaError) -> SchemaReport {
    if request.isName { try requireWhole("say what a table or a column is called") }
    let report = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        let remark = try SchemaWork(store: store, clock: self.clock).perform(request)
        return SchemaReport(try store.tableColumns(), remark: remark)
      }
    }
    if request.isName {
      // Rows that were counted under another name are looked at again.
      try await foldNow()
      await announce()
    }
    return report
  }
}

extension SchemaRequest {
  /// Whether it says what something is called.
  fileprivate var isName: Bool {
    switch self {
    case .map, .mapTable: true
    case .show, .letGo: false
    }
  }
}

/// Carries out what was asked about tables and columns.
private struct SchemaWork {
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
        let rows = try store.letGo(of: column, in: table)
        done.append(
          rows == 0
            ? "nothing is kept here for \(column) of \(table)"
            : "let go of \(column) in \(rows == 1 ? "1 row" : "\(rows) rows") of "
              + store.nameHere(store.siteName(table)))
      }
      return done.joined(separator: "\n")
    }
  }
}

extension SchemaReport {
  init(_ tables: [TableColumns], remark: String?) {
    self.tables = tables.map { table in
      Table(
        table: table.table, first: table.first,
        columns: table.columns.map { Column(name: $0.name, first: $0.first) },
        kept: table.kept.map { kept in
          let fate =
            switch kept.fate {
            case .notHereYet: "not-here-yet"
            case .dropped: "dropped"
            case .shownOtherwise: "shown-otherwise"
            case .inItsForm: "in-its-form"
            case .letGo: "let-go"
            }
          return Kept(columns: kept.columns, fate: fate, rows: kept.rows)
        })
    }
    self.remark = remark
  }
}
