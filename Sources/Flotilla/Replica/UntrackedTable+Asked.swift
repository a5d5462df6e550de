import Store

extension UntrackedTable {
  /// Whether it is new, and something speaks against it that may change.
  var isRefused: Bool {
    switch kind {
    case .refused, .similar: true
    case .new, .scratch, .book, .old: false
    }
  }
}

extension StatusReport.AskedTable {
  init?(_ table: WaitingTable) {
    guard let question = table.question else { return nil }
    self.init(
      table: table.name, by: question.node, rows: question.rowsHere, waiting: table.rows)
  }
}
