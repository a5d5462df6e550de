import SQLite

/// A finished database file.
final class Template {
  let bytes: [UInt8]
  /// Equal for files of equal schemas; nil as long as nobody has read it.
  fileprivate(set) var schema: Int?

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// "The schema cookie": a number at offset 40 that each change of the schema counts up
  /// (sqlite.org/fileformat2.html).
  var schemaVersion: Int64 { bytes[40..<44].reduce(0) { $0 << 8 | Int64($1) } }
}

/// Programs whose schedule is over and that go on in another one, which begins with the same
/// schema.
///
/// To read a schema and to prepare statements takes as long as a good part of a schedule; both
/// follow from the schema alone. Only the programs that use replicas are kept: nothing ever fails
/// in them, and they do nothing before the store has opened. A store is always opened anew.
final class IdlePrograms {
  struct Program {
    let connection: Connection
    // After the connection: it is let go in this order.
    let process: DiskProcess
  }

  /// Of one schema: as many as a site has nodes.
  private static let limit = 4

  private var idle: [Int: [Program]] = [:]
  private var schemas: [String: Int] = [:]

  /// A program that knows the schema of a file, if there is one.
  func take(for template: Template) -> Program? {
    template.schema.flatMap { idle[$0]?.popLast() }
  }

  /// Keeps a program that began with a file, if that has the schema still.
  func keep(_ program: Program, of template: Template) {
    guard !program.process.isDead, program.connection.isIdle,
      let version = try? program.connection.schemaVersion(), version == template.schemaVersion,
      let schema = try? template.schema ?? number(of: program.connection, version),
      idle[schema, default: []].count < Self.limit,
      (try? program.connection.rows("PRAGMA shrink_memory")) != nil
    else { return }
    template.schema = schema
    idle[schema, default: []].append(program)
  }

  /// Equal where everything that SQLite knows of a schema is.
  private func number(of connection: Connection, _ version: Int64) throws -> Int {
    let rows = try connection.rows("SELECT * FROM sqlite_schema ORDER BY rowid")
    let text =
      rows.joined().map { $0.string ?? "\($0.integer ?? 0)" }.joined(separator: "\n")
      + " \(version)"
    let number = schemas[text] ?? schemas.count
    schemas[text] = number
    return number
  }
}
