import SQLite

@testable import Gateway

/// What clients of the gateway send.
///
/// A value that is read is written so that it is read as the same, in both kinds of columns.
func readJSON(_ bytes: [UInt8]) {
  guard let json = try? JSONReader.read(bytes) else { return }
  var values: [JSONValue] = [json]
  while let value = values.popLast() {
    switch value {
    case .array(let elements): values += elements
    case .object(let members): values += members.map(\.value)
    default: break
    }
    guard let stored = try? value.stored() else { continue }
    var text = RowText()
    text.append(stored, isUntyped: true)
    guard let again = try? JSONReader.read(text.bytes).stored() else {
      fatalError("\(stored) is not read as it was written")
    }
    demand(again == stored, "\(again) is read where \(stored) was written")
  }
}

/// The target of a request: what is taken as a query is a statement that SQLite takes, and reads
/// nothing but the one table.
func readQuery(_ bytes: [UInt8]) {
  guard let target = try? RequestTarget(String(decoding: bytes, as: UTF8.self)) else { return }
  if let last = target.path.last { _ = try? RowKey.read(last, of: QueryTable.shape) }
  guard let query = try? RowQuery(target.parameters),
    let sql = try? query.statement(on: QueryTable.shape)
  else { return }
  do {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(QueryTable.schema)
    let page = try RowPage.read(query, of: "t", on: connection)
    demand(page.next == nil, "a page of no rows goes on")
    _ = try connection.rows(sql.text, sql.values)
  } catch {
    fatalError("\(error): \(sql.text)")
  }
}

private enum QueryTable {
  static let schema = """
    CREATE TABLE t(a INTEGER, b TEXT COLLATE NOCASE, c, "d""e" REAL, PRIMARY KEY(a, b));
    CREATE VIEW _flotilla_rows_t AS SELECT 1;
    """
  static let shape: TableShape = {
    do {
      let connection = try Connection(path: ":memory:", mode: .create)
      try connection.execute(schema)
      guard let shape = try TableShape.read("t", on: connection) else { fatalError("no table") }
      return shape
    } catch {
      fatalError("\(error)")
    }
  }()
}

extension Seeds {
  static let json = [
    #"{"id":"p-1","n":[1,-2.5e3,true,null],"é":"\u00e9\ud83d\ude00\n"}"#,
    #"[{"base64":"AP8="},{"integer":"9007199254740993"},{"real":"-Infinity"}]"#,
    #"{"base64_text":"/w=="}"#,
  ]

  static let queries = [
    "/v1/a/rows/t?a=eq.5&b=not.like.x%25&select=a,c&order=c.desc,b&limit=10",
    "/v1/a/rows/t/1,%7B%22text%22:%22x%22%7D",
    "/?or=(a.in.(1,2),and(b.gt.\"x,y\",c.is.null),not.or(a.lt.1))&%22d%22=gte.1",
    "/?order=a&next=WyJ0OmErYisiLDEsIngiXQ",
  ]
}
