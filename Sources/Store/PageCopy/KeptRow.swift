import Replication
import SQLite

/// A row of a copy that waits beside its table, read piece by piece: what its version says of it is
/// compared with, and it may have 64 MiB.
struct KeptRow {
  struct Part {
    var name: String
    /// The hash of the value by itself.
    var hash: UInt64
    /// Nil if it is long.
    var value: Replication.Value?

    func differs(from preset: Replication.Value?) -> Bool {
      guard let value else { return preset.map(ContentHash.content) != hash }
      return value != preset
    }
  }

  private(set) var parts: [Part] = []
  private(set) var keyCount = 0
  /// What columns add whose values are not here.
  private(set) var rest: UInt64 = 0

  /// Longer values are known by their hash alone, but for those of the key.
  static let shortBytes = 64 << 10
  /// More than a row may have: values, and the names of columns.
  static let mostBytes = Limits.row + 1 << 20

  init(_ blob: BlobReader, keyBytes: Int) throws(SQLiteError) {
    var reader = PieceReader(blob)
    guard blob.count <= Self.mostBytes else { throw PieceReader.unreadable }
    let keys = try reader.uint()
    let count = try reader.uint()
    guard keys <= count, count <= UInt64(Limits.columns) else { throw PieceReader.unreadable }
    keyCount = Int(keys)
    for number in 0..<Int(count) {
      let name = try reader.text()
      // A value of a key is in the key, too.
      let longest = number < keyCount ? max(Self.shortBytes, keyBytes) : Self.shortBytes
      let (hash, value) = try reader.value(upTo: longest)
      parts.append(Part(name: name, hash: hash, value: value))
    }
    if !reader.isAtEnd { rest = try reader.word() }
    // Only a row that stands in its table has columns that show something else.
    guard reader.isAtEnd else { throw PieceReader.unreadable }
  }

  /// Whether this is the row that a version of that hash says, by what counts here. Where its
  /// author counts otherwise that cannot be told.
  func says(_ hash: UInt64, _ statements: RowStatements) -> Bool {
    var sum = ContentHash()
    for (number, part) in parts.enumerated() {
      let column = statements.column(named: part.name, at: number)
      // Of a column that is not here NULL is the default.
      let preset: Replication.Value? = if let column { statements.defaults[column] } else { .null }
      guard part.differs(from: preset) else { continue }
      let name = column.map { statements.columnHashes[$0] } ?? ContentHash.column(part.name)
      sum.add(column: name, content: part.hash)
    }
    sum.add(rest: rest)
    return sum.value == hash
  }
}

/// Reads values, as a row on the shelf has them, out of a blob.
private struct PieceReader {
  static let unreadable = SQLiteError.rows("what it keeps beside rows cannot be read")

  private let blob: BlobReader
  private var position = 0
  private var piece: [UInt8] = []
  private var start = 0

  private static let pieceBytes = 256 << 10

  init(_ blob: BlobReader) { self.blob = blob }

  var isAtEnd: Bool { position == blob.count }
  private var remaining: Int { blob.count - position }

  private mutating func byte() throws(SQLiteError) -> UInt8 {
    guard position < blob.count else { throw Self.unreadable }
    if position - start >= piece.count { try fill() }
    defer { position += 1 }
    return piece[position - start]
  }

  private mutating func fill() throws(SQLiteError) {
    piece = try blob.read(min(Self.pieceBytes, remaining), from: position)
    start = position
  }

  mutating func word() throws(SQLiteError) -> UInt64 {
    var word: UInt64 = 0
    for _ in 0..<8 { word = word << 8 | UInt64(try byte()) }
    return word
  }

  mutating func uint() throws(SQLiteError) -> UInt64 {
    var bytes: [UInt8] = []
    repeat {
      bytes.append(try byte())
    } while bytes.last.map { $0 & 0x80 != 0 } ?? false
      && bytes.count < 10
    var reader = ByteReader(bytes)
    guard let value = try? reader.uint("shelf"), reader.isAtEnd else { throw Self.unreadable }
    return value
  }

  private mutating func length(_ limit: Int) throws(SQLiteError) -> Int {
    let length = try uint()
    guard length <= UInt64(limit), length <= UInt64(remaining) else { throw Self.unreadable }
    return Int(length)
  }

  mutating func text() throws(SQLiteError) -> String {
    let count = try length(Limits.name)
    var bytes: [UInt8] = []
    for _ in 0..<count { bytes.append(try byte()) }
    guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
      throw Self.unreadable
    }
    return text
  }

  /// The hash of the next value, and the value itself if it is no longer than that.
  mutating func value(
    upTo longest: Int
  ) throws(SQLiteError) -> (UInt64, Replication.Value?) {
    let kind = try byte()
    guard kind == 3 || kind == 4 else {
      var bytes = [kind]
      switch kind {
      case 0: break
      case 1:
        repeat {
          bytes.append(try byte())
        } while bytes[bytes.count - 1] & 0x80 != 0
          && bytes.count < 11
      case 2: for _ in 0..<8 { bytes.append(try byte()) }
      default: throw Self.unreadable
      }
      var reader = ByteReader(bytes)
      guard let value = try? reader.value("shelf"), reader.isAtEnd else { throw Self.unreadable }
      return (ContentHash.content(value), value)
    }
    let count = try length(Limits.row)
    var hash = HashStream(count: count, isText: kind == 3)
    var kept: [UInt8] = []
    var left = count
    while left > 0 {
      if position - start >= piece.count { try fill() }
      let part = piece[(position - start)...].prefix(left)
      hash.add(part)
      if count <= longest { kept += part }
      position += part.count
      left -= part.count
    }
    guard count <= longest else { return (hash.value, nil) }
    return (hash.value, kind == 3 ? .text(kept) : .blob(kept))
  }
}
