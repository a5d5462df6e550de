import Replication
import SQLite

/// The part of a version that most versions do not have, in one column: where no anchor is and one
/// node alone edits a row, nothing.
struct VersionExtra {
  let origins: Origins
  let terms: Terms

  private static let hasTerm: UInt8 = 1
  /// It certifies another edit than its own.
  private static let hasEdit: UInt8 = 2
  private static let hasSession: UInt8 = 4
  private static let hasContext: UInt8 = 8
  private static let isUndated: UInt8 = 16
  /// An epoch without a term: the row was repaired, and there was no anchor.
  private static let hasEpoch: UInt8 = 32
  private static let isDangling: UInt8 = 64
  /// A byte of `More` follows after the context.
  private static let hasMore: UInt8 = 128

  private enum More {
    /// Made anew by a migration of the key.
    static let image: UInt8 = 1
    /// It says something of keys that may be given twice.
    static let numbering: UInt8 = 2
  }

  /// Nil if there is nothing to say.
  func encode(_ version: Version) throws(SQLiteError) -> [UInt8]? {
    guard version.hasParticulars else { return nil }
    var flags: UInt8 = 0
    if version.term != .none { flags |= Self.hasTerm }
    if version.isUndated { flags |= Self.isUndated }
    if version.isDangling { flags |= Self.isDangling }
    if version.term == .none, version.epoch > 0 { flags |= Self.hasEpoch }
    if version.edit != version.dot { flags |= Self.hasEdit }
    if version.session != 0 { flags |= Self.hasSession }
    if !version.context.isEmpty { flags |= Self.hasContext }
    var more: UInt8 = 0
    if version.image != nil { more |= More.image }
    if !version.numbering.isEmpty { more |= More.numbering }
    if more != 0 { flags |= Self.hasMore }
    guard flags != 0 else { return nil }
    var writer = ByteWriter()
    writer.byte(flags)
    if flags & Self.hasTerm != 0 {
      writer.uint(UInt64(try terms.number(of: version.term)))
      writer.uint(version.epoch)
    }
    if flags & Self.hasEpoch != 0 { writer.uint(version.epoch) }
    if flags & Self.hasEdit != 0 { try write(version.edit, to: &writer) }
    if flags & Self.hasSession != 0 { writer.word(version.session) }
    if flags & Self.hasContext != 0 {
      writer.uint(version.context.dots.count)
      for dot in version.context.dots { try write(dot, to: &writer) }
    }
    guard more != 0 else { return writer.bytes }
    writer.byte(more)
    if let image = version.image { try write(image, to: &writer) }
    if more & More.numbering != 0 {
      try version.numbering.write(to: &writer) { (dot, writer) throws(SQLiteError) in
        try write(dot, to: &writer)
      }
    }
    return writer.bytes
  }

  /// Fills in what the column says; a column that cannot be read says nothing.
  func decode(_ bytes: [UInt8], at moment: Stamp?, into version: inout Version) {
    var reader = ByteReader(bytes)
    var said = version.particulars
    defer { version.particulars = said }
    do {
      let flags = try reader.byte("extra")
      if flags & Self.hasTerm != 0 {
        said.term = terms.term(of: Int64(try reader.number("extra"))) ?? .none
        said.epoch = try reader.number("extra")
      }
      if flags & Self.hasEpoch != 0 { said.epoch = try reader.number("extra") }
      said.isUndated = flags & Self.isUndated != 0
      said.isDangling = flags & Self.isDangling != 0
      let edit = flags & Self.hasEdit != 0 ? try read(&reader) : version.dot
      said.certificate = moment.map { Version.Certificate(edit: edit ?? version.dot, at: $0) }
      if flags & Self.hasSession != 0 { said.session = try reader.word("extra") }
      if flags & Self.hasContext != 0 {
        for _ in 0..<(try reader.count("extra", limit: RowContext.limit)) {
          if let dot = try read(&reader) { said.context.add(dot) }
        }
      }
      guard flags & Self.hasMore != 0 else { return }
      let more = try reader.byte("extra")
      if more & More.image != 0 { said.image = try read(&reader) }
      guard more & More.numbering != 0 else { return }
      said.numbering = try Numbering(from: &reader) { (reader) throws(WireError) in
        try read(&reader)
      }
    } catch {
      return
    }
  }

  private func write(_ dot: Dot, to writer: inout ByteWriter) throws(SQLiteError) {
    writer.uint(UInt64(try origins.number(of: dot.origin)))
    writer.uint(dot.seq)
  }

  private func read(_ reader: inout ByteReader) throws(WireError) -> Dot? {
    let origin = origins.origin(of: Int64(try reader.number("extra")))
    let seq = try reader.number("extra")
    return origin.map { Dot($0, seq) }
  }
}
