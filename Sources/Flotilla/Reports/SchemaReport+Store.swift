import Store

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

extension SchemaReport.Adoption {
  init(_ adoption: SchemaAdoption, of node: String, isMade: Bool) {
    self.node = node
    self.is_made = isMade
    statements = adoption.steps.map {
      Statement(kind: $0.kind.rawValue, name: $0.name, table: $0.table, sql: $0.sql)
    }
    differences = adoption.differences.map {
      Difference(
        kind: $0.kind.rawValue, name: $0.name, table: $0.table, what: $0.what, remedy: $0.remedy)
    }
  }
}
