import Replication
import SQLite

/// The small numbers that stand for terms in the version table.
final class Terms {
  private let connection: Connection
  private var numbers: [Term: Int64] = [:]
  private var terms: [Int64: Term] = [:]

  init(_ connection: Connection) throws(SQLiteError) {
    self.connection = connection
    try reload()
  }

  func reload() throws(SQLiteError) {
    numbers = [:]
    terms = [:]
    guard try Layout.hasTable("_flotilla_term", on: connection) else { return }
    for row in try connection.rows("SELECT id, number, incarnation FROM _flotilla_term") {
      guard let id = row[0].integer, id > 0, let number = row[1].integer,
        let raw = row[2].integer
      else { continue }
      note(
        Term(number: UInt64(bitPattern: number), incarnation: UInt64(bitPattern: raw)), as: id)
    }
  }

  func number(of term: Term) throws(SQLiteError) -> Int64 {
    if let number = numbers[term] { return number }
    try connection.run(
      "INSERT INTO _flotilla_term(number, incarnation) VALUES (?, ?)",
      [
        .integer(Int64(bitPattern: term.number)), .integer(Int64(bitPattern: term.incarnation)),
      ])
    note(term, as: connection.lastInsertRowID)
    return connection.lastInsertRowID
  }

  func term(of number: Int64) -> Term? { terms[number] }

  /// Whether nothing here was ever said in a term.
  var isEmpty: Bool { terms.isEmpty }

  private func note(_ term: Term, as number: Int64) {
    numbers[term] = number
    terms[number] = term
  }
}
