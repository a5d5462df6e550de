import Replication
import SQLite

/// The small numbers that stand for origins and terms in a file, and the column that needs them.
struct NumberedNames {
  private var origins: [Int64: Origin] = [:]
  private var terms: [Int64: Term] = [:]
  private var isLoaded = false

  mutating func load(_ connection: Connection) throws(SQLiteError) {
    guard !isLoaded else { return }
    isLoaded = true
    for row in try connection.rows("SELECT id, origin FROM _flotilla_origin") {
      origins[row[0].integer ?? 0] = Origin(rawValue: UInt64(bitPattern: row[1].integer ?? 0))
    }
    for row in try connection.rows("SELECT id, number, incarnation FROM _flotilla_term") {
      terms[row[0].integer ?? 0] = Term(
        number: UInt64(bitPattern: row[1].integer ?? 0),
        incarnation: UInt64(bitPattern: row[2].integer ?? 0))
    }
  }

  /// What the column `extra` says: a byte of flags, then what they announce, in this order.
  func decode(_ bytes: [UInt8], at moment: Int64?, _ version: inout Version) {
    var reader = ByteReader(bytes)
    do {
      let flags = try reader.byte("flags")
      if flags & 1 != 0 {
        version.term = terms[Int64(try reader.number("term"))] ?? .none
        version.epoch = try reader.number("epoch")
      }
      // An epoch without a term.
      if flags & 32 != 0 { version.epoch = try reader.number("epoch") }
      let edit = flags & 2 != 0 ? try dot(&reader) : version.dot
      if let moment {
        version.certificate = Version.Certificate(edit: edit, at: Stamp(rawValue: moment))
      }
      if flags & 4 != 0 { version.session = try reader.word("session") }
      guard flags & 8 != 0 else { return }
      for _ in 0..<(try reader.number("context")) { version.context.add(try dot(&reader)) }
    } catch {
      preconditionFailure("the column extra cannot be read: \(error)")
    }
  }

  private func dot(_ reader: inout ByteReader) throws(WireError) -> Dot {
    let number = Int64(try reader.number("origin"))
    return Dot(origins[number] ?? Origin(rawValue: 0), try reader.number("seq"))
  }
}
