/// Whether tables of the server are still what rows are converted for.
///
/// Both schemas are looked at every five seconds. In between an ALTER may take a digit of a
/// DECIMAL, and the server would round what goes there without a word. So each transaction asks
/// before it writes: the question locks the table as it is until the end of the transaction.
/// "when a transaction […] uses a table, it locks its metadata until the end of transaction"
/// (mariadb.com, "Metadata Locking").
struct PlannedTables {
  private var known: [Int: [ServerStatement.Description]] = [:]

  /// An error if the table is not the one of the link any more.
  mutating func require(
    _ link: TableLink, on server: ServerConnection
  ) throws(ServerError) {
    let names = link.columns.map { serverName($0.serverName) }.joined(separator: ", ")
    let found = try server.description(
      of: "SELECT \(names) FROM \(link.server.sqlName) WHERE FALSE")
    if let known = known[link.number] {
      guard known == found else { throw .otherColumns }
      return
    }
    let table = try ServerTable.read(link.server.schema, link.server.name, on: server)
    guard table == link.server else { throw .otherColumns }
    known[link.number] = found
  }
}
