import Flotilla

/// Long values on a terminal: a page of text in one cell hides the other rows.
extension SQLReport {
  /// So many characters of a value are shown on a terminal.
  private static let longest = 300

  /// The same with long text cut short, if somebody sees it on a terminal; what is written into a
  /// file or read by a program is whole.
  func cut(for output: Output) -> SQLReport {
    guard output.isTerminal else { return self }
    var report = self
    report.rows = rows.map { $0.map(Self.cut) }
    report.touched = touched.map { row in
      var row = row
      row.values = row.values?.map(Self.cut)
      return row
    }
    return report
  }

  private static func cut(_ value: SQLValue) -> SQLValue {
    guard case .text(let text) = value, text.utf8.count > longest, text.count > longest else {
      return value
    }
    return .text("\(text.prefix(longest))… (\(thousands(text.count)) characters; all: --json)")
  }
}
