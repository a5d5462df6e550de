import Foundation
import SQLite
import Testing

@testable import Store

/// A database with captured tables, and the truth about what a statement did to them.
///
/// The truth is the difference of whole tables before and after; whatever differs must be noted.
final class CapturedDatabase {
  let connection: Connection
  /// In the order of their local ids, which start at 1.
  private(set) var schemas: [TableSchema] = []

  init(_ setup: String, tables: [String] = ["t"], path: String = ":memory:") throws {
    connection = try Connection(path: path, mode: .create)
    try Journal.create(on: connection)
    try connection.execute(setup)
    for (index, name) in tables.enumerated() {
      let schema = try #require(try TableSchema.read(name, on: connection))
      try Capture.install(schema, id: Int64(index + 1), on: connection)
      schemas.append(schema)
    }
  }

  /// Reads the schemas anew, after an ALTER TABLE.
  func refresh(_ tables: [String]) throws {
    schemas = try tables.map { try #require(try TableSchema.read($0, on: connection)) }
  }

  /// Runs the work and checks that every changed row was noted; gives the changed keys.
  @discardableResult
  func check(
    _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ work: () throws -> Void
  ) throws -> Set<String> {
    let before = try rows()
    let last = try Journal.read(limit: .max, on: connection).last?.id ?? 0
    try work()
    let after = try rows()
    let changed = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
    let noted = Set(try Journal.read(after: last, limit: .max, on: connection).map(key))
    #expect(
      noted.isSuperset(of: changed), comment ?? "every changed key is noted",
      sourceLocation: sourceLocation)
    return Set(changed)
  }

  /// Runs one SQL text; it must change the captured tables, or the check would say nothing.
  @discardableResult
  func check(
    _ sql: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Set<String> {
    let changed = try check(Comment(rawValue: sql), sourceLocation: sourceLocation) {
      try connection.execute(sql)
    }
    #expect(!changed.isEmpty, "\(sql) changes something", sourceLocation: sourceLocation)
    return changed
  }

  /// The keys in the journal.
  func noted() throws -> Set<String> {
    Set(try Journal.read(limit: .max, on: connection).map(key))
  }

  private func key(of entry: JournalEntry) -> String {
    let schema = schemas[Int(entry.table) - 1]
    return key(Array(entry.key.prefix(schema.key.count)), schema)
  }

  /// Every row of every captured table by its key; rows with NULL in the key are not replicated.
  private func rows() throws -> [String: [Value]] {
    var rows: [String: [Value]] = [:]
    for schema in schemas {
      let statement = try connection.prepare("SELECT * FROM \(quoted(schema.name))")
      while try statement.step() {
        let row = statement.row
        let values = schema.key.map { row[$0] }
        guard !values.contains(.null) else { continue }
        rows[key(values, schema)] = row
      }
    }
    return rows
  }

  /// One text for all spellings of a key that SQLite takes for the same.
  private func key(_ values: [Value], _ schema: TableSchema) -> String {
    let parts = zip(values, schema.keyCollations).map { value, collation in
      switch value {
      case .null: "NULL"
      case .integer(let integer): "\(integer)"
      case .real(let real): Int64(exactly: real).map { "\($0)" } ?? "\(real)"
      case .text(let bytes): "'" + canonical(bytes, collation) + "'"
      case .blob(let bytes): "x\(bytes)"
      }
    }
    return "\(schema.name)(\(parts.joined(separator: ",")))"
  }

  private func canonical(_ bytes: [UInt8], _ collation: String) -> String {
    var bytes = bytes
    if collation == "RTRIM" { while bytes.last == 0x20 { bytes.removeLast() } }
    if collation == "NOCASE" { bytes = bytes.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 } }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// An empty folder that is gone when the test is over.
func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
  let folder = FileManager.default.temporaryDirectory
    .appendingPathComponent("flotilla-store-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try body(folder.path)
}
