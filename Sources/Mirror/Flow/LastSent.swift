import SQLite

/// Rows as they went out a moment ago. A page of the feed is read before its rows are: a row that
/// was changed in between goes out as it is by then, and the next page names it again.
///
/// Patient 5 is Ann, then Anna, and Anna goes out. A program of the server that makes her Anne has
/// seen that; the feed names Anna afterwards, and that is no change that the server has not got.
struct LastSent {
  /// So many are known; of others too much is logged rather than too little.
  private static let most = 20_000
  /// Within that time the feed has told of what was committed before.
  private static let time = Duration.seconds(10)

  private var rows: [RowKey: (print: String, at: ContinuousClock.Instant)] = [:]

  func has(_ row: MirroredRow) -> Bool { rows[row.name]?.print == row.print }

  mutating func note(_ row: MirroredRow) {
    if rows.count >= Self.most { rows = [:] }
    rows[row.name] = (row.print, .now)
  }

  /// Something else was written on either side.
  mutating func forget(_ name: RowKey) { rows[name] = nil }

  /// The same of all rows under some keys of a table.
  mutating func forget(_ keys: [[Value]], of link: TableLink) {
    guard !rows.isEmpty else { return }
    for key in keys { rows[RowKey(link.number, key)] = nil }
  }

  mutating func letGo() {
    guard !rows.isEmpty else { return }
    let end = ContinuousClock.now - Self.time
    rows = rows.filter { $0.value.at > end }
  }
}
