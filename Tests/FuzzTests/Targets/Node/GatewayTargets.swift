import Flotilla
import SQLite
import Store

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
    let page = try RowPage.read(query, of: "t", in: OpenFile(connection))
    demand(page.next == nil, "a page of no rows goes on")
    _ = try connection.rows(sql.text, sql.values)
  } catch {
    fatalError("\(error): \(sql.text)")
  }
}

/// A statement of a client who may not read every table: it changes nothing, and neither rows nor
/// words tell of what is hidden.
func readQuestion(_ bytes: [UInt8]) {
  do {
    let connection = try StatementFile.connection()
    let before = connection.totalChanges
    let text = String(decoding: bytes, as: UTF8.self)
    // A second of SQLite is many of the sanitizer's.
    QueryBounds.watch(connection, until: .now + .milliseconds(200))
    var said: String
    do throws(Problem) {
      let body = try QueryCall.rows(text, [], on: connection, hides: true) {
        $0 != StatementFile.hidden
      }
      said = String(decoding: body, as: UTF8.self)
      demand((try? JSONReader.read(body)) != nil, "no JSON: \(said)")
    } catch {
      demand((400...422).contains(error.status) || error.status == 503, "\(error): \(text)")
      said = error.detail
    }
    demand(!said.contains(StatementFile.secret), "it tells what is hidden: \(said)")
    // A name that the client has not said itself.
    demand(
      !said.contains(StatementFile.column) || text.contains(StatementFile.column),
      "it tells a name: \(said)")
    demand(connection.totalChanges == before, "it has written: \(text)")
  } catch {
    fatalError("\(error)")
  }
}

/// The value of a header, or a cursor of changes: what is taken is written so that it is the same.
func readHeader(_ bytes: [UInt8]) {
  let text = String(decoding: bytes, as: UTF8.self)
  if let cursor = ChangeCursor(text) {
    demand(cursor.description == text, "the cursor \(text) is \(cursor)")
  }
  if let condition = try? TagCondition(text), case .tags(let tags) = condition {
    let again = tags.map { ($0.isWeak ? "W/" : "") + $0.text }.joined(separator: ", ")
    demand((try? TagCondition(again)) == condition, "\(again) is read where \(text) was meant")
  }
  if let wishes = try? Preferences(text) {
    demand(0...Preferences.longestWait ~= wishes.wait ?? 0, "it waits for \(wishes)")
    demand(wishes.mostRows ?? 0 >= 0, "it touches \(wishes)")
  }
  let check = RequestCheck(hosts: RequestCheck.local)
  if (try? check.check(HTTPRequest("GET", "/", headers: [("host", text)]))) != nil {
    demand(check.hosts.contains(RequestCheck.name(of: text)), "it is called \(text)")
  }
  for name in ["content-length", "transfer-encoding", "origin"] {
    let headers = [("host", "localhost"), (name, text)].map { (name: $0.0, value: $0.1) }
    _ = try? check.check(HTTPRequest("GET", "/", headers: headers))
  }
  _ = HTTPRequest("GET", "/", headers: [("cookie", text)]).cookie("flotilla")
  _ = AccessToken.hash(of: text)
}

private enum StatementFile {
  static let hidden = "Hidden"
  static let column = "col_of_hidden"
  static let secret = "value of the hidden"

  static func connection() throws -> Connection {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute(
      """
      CREATE TABLE open(id INTEGER PRIMARY KEY, v, at REAL);
      CREATE TABLE Hidden(id INTEGER PRIMARY KEY, col_of_hidden TEXT);
      CREATE TABLE _flotilla_answer(token TEXT);
      CREATE VIEW _flotilla_rows_open AS SELECT 1;
      CREATE VIEW _flotilla_rows_Hidden AS SELECT 1;
      CREATE VIEW fine AS SELECT v FROM open;
      CREATE VIEW leak AS SELECT v FROM open UNION SELECT col_of_hidden FROM Hidden;
      INSERT INTO open VALUES (1, 'one', 1.0), (2, x'00FF', -0.5), (3, 9007199254740993, NULL);
      INSERT INTO Hidden VALUES (1, 'value of the hidden');
      INSERT INTO _flotilla_answer VALUES ('value of the hidden');
      """)
    try QueryBounds.set(on: connection)
    return connection
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
  static let headers = [
    "7.5cecfa60ab38", #""a,b", W/"c""#, "return=representation; x=1, wait=5, max-affected=3",
    "localhost:7392", "[::1]:80", "Bearer flotilla_xtIWSdqVVtMTm6t5", "a=b; flotilla=c", "*", "0",
  ]
  static let json = [
    #"{"id":"p-1","n":[1,-2.5e3,true,null],"é":"\u00e9\ud83d\ude00\n"}"#,
    #"[{"base64":"AP8="},{"integer":"9007199254740993"},{"real":"-Infinity"}]"#,
    #"{"base64_text":"/w=="}"#,
  ]

  static let questions = [
    "SELECT id, v, at FROM open WHERE v LIKE 'o%' ORDER BY 1 LIMIT 5",
    "WITH x(a) AS (SELECT id FROM open UNION ALL VALUES (7)) SELECT sum(a) OVER () FROM x",
    "SELECT * FROM leak", "SELECT col_of_hidden FROM Hidden", "SELECT value FROM json_each('[1]')",
    "EXPLAIN SELECT (SELECT count(*) FROM fine) FROM open", "DELETE FROM open RETURNING id",
    "SELECT sql FROM sqlite_schema", "PRAGMA table_info(Hidden)", "ATTACH 'x' AS y; SELECT 1",
  ]

  static let queries = [
    "/v1/a/rows/t?a=eq.5&b=not.like.x%25&select=a,c&order=c.desc,b&limit=10",
    "/v1/a/rows/t/1,%7B%22text%22:%22x%22%7D",
    "/?or=(a.in.(1,2),and(b.gt.\"x,y\",c.is.null),not.or(a.lt.1))&%22d%22=gte.1",
    "/?order=a&next=WyJ0OmErYisiLDEsIngiXQ",
  ]
}
