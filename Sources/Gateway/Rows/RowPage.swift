import SQLite

/// One page of rows, as JSON.
struct RowPage: Sendable {
  var body: [UInt8]
  /// Where the next page begins; nil if this is the last.
  var next: String?

  /// A page is cut short once it has so many bytes.
  static let longest = 8 << 20

  static func read(
    _ query: RowQuery, of name: String, in file: OpenFile
  ) throws(Problem) -> RowPage {
    let (table, connection) = (try file.shape(of: name), file.connection)
    let sql = try query.statement(on: table)
    let shown = try query.shown(in: table)
    let order = try query.places(in: table)
    let orderName = try query.name(of: order, table)
    let columns = shown.map { table.columns[$0] }
    var problem: Problem?
    let page = try reporting { () throws(SQLiteError) in
      try connection.with(sql.text, sql.values) { (statement) throws(SQLiteError) in
        var text = RowText()
        var (count, end, hasMore) = (0, [Value](), false)
        text.append("[")
        while try statement.step() {
          if count == query.limit || text.bytes.count > longest {
            hasMore = true
            break
          }
          let values = statement.row
          do throws(Problem) {
            try StoredRow.checkSize(of: values, in: table)
          } catch {
            problem = error
            break
          }
          if count > 0 { text.append(",\n") }
          text.append(row: Array(values.prefix(shown.count)), columns: columns)
          end = Array(values.dropFirst(shown.count))
          count += 1
        }
        text.append("]\n")
        let last = PageEnd(values: end)
        if hasMore, !last.isShort { problem = PageEnd.tooLong }
        return RowPage(
          body: text.bytes,
          next: hasMore && problem == nil ? last.text(of: orderName) : nil)
      }
    }
    if let problem { throw problem }
    return page
  }
}
