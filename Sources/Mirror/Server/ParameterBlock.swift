import CMariaDB
import SQLite

/// Values for one execution of a statement, column by column, in memory that the C library reads.
///
/// Rows are filled one after the other: a value for each column, then the end of the row.
final class ParameterBlock {
  let columns: Int
  /// How many rows are filled.
  private(set) var count = 0
  /// How many bytes texts and blobs have.
  private(set) var bytes = 0
  private let room: Int
  private let binds: UnsafeMutablePointer<MYSQL_BIND>
  private let types: UnsafeMutablePointer<enum_field_types>
  /// A number or its bits. Of a text where it begins: in the bytes first, in memory once bound.
  private let words: UnsafeMutablePointer<Int64>
  private let lengths: UnsafeMutablePointer<UInt>
  private let indicators: UnsafeMutablePointer<CChar>
  private var arena: UnsafeMutableRawPointer
  private var arenaSize: Int
  private var isPlaced = false

  /// Room for so many rows.
  init(columns: Int, room: Int, bytes: Int = 0) {
    (self.columns, self.room) = (columns, room)
    let cells = max(1, room * columns)
    binds = .allocate(capacity: max(1, columns))
    types = .allocate(capacity: max(1, columns))
    types.initialize(repeating: MYSQL_TYPE_NULL, count: max(1, columns))
    words = .allocate(capacity: cells)
    lengths = .allocate(capacity: cells)
    indicators = .allocate(capacity: cells)
    arenaSize = max(64, bytes)
    arena = .allocate(byteCount: arenaSize, alignment: 1)
  }

  convenience init(_ rows: [[Value]], columns: Int) {
    self.init(
      columns: columns, room: rows.count,
      bytes: rows.reduce(0) { $0 + $1.reduce(0) { $0 + $1.byteCount } })
    for row in rows {
      for column in 0..<columns { put(row[column], in: column) }
      endRow()
    }
  }

  deinit {
    binds.deallocate()
    types.deallocate()
    words.deallocate()
    lengths.deallocate()
    indicators.deallocate()
    arena.deallocate()
  }

  var isFull: Bool { count == room }

  func endRow() { count += 1 }

  func put(_ value: Value, in column: Int) {
    switch value {
    case .null: putNull(in: column)
    case .integer(let number): put(number, in: column)
    case .real(let number): put(number, in: column)
    case .text(let bytes): bytes.withUnsafeBytes { put($0, isText: true, in: column) }
    case .blob(let bytes): bytes.withUnsafeBytes { put($0, isText: false, in: column) }
    }
  }

  func putNull(in column: Int) {
    put(0, length: 0, STMT_INDICATOR_NULL, in: column)
  }

  func put(_ number: Int64, in column: Int) {
    types[column] = MYSQL_TYPE_LONGLONG
    put(number, length: 0, STMT_INDICATOR_NONE, in: column)
  }

  func put(_ number: Double, in column: Int) {
    types[column] = MYSQL_TYPE_DOUBLE
    put(Int64(bitPattern: number.bitPattern), length: 0, STMT_INDICATOR_NONE, in: column)
  }

  /// Copies them.
  func put(_ content: UnsafeRawBufferPointer, isText: Bool, in column: Int) {
    types[column] = isText ? MYSQL_TYPE_STRING : MYSQL_TYPE_BLOB
    put(Int64(bytes), length: content.count, STMT_INDICATOR_NONE, in: column)
    guard let base = content.baseAddress else { return }
    if bytes + content.count > arenaSize { grow(to: bytes + content.count) }
    (arena + bytes).copyMemory(from: base, byteCount: content.count)
    bytes += content.count
  }

  private func put(
    _ word: Int64, length: Int, _ indicator: enum_indicator_type, in column: Int
  ) {
    let cell = column * room + count
    words[cell] = word
    lengths[cell] = UInt(length)
    indicators[cell] = CChar(indicator.rawValue)
  }

  private func grow(to size: Int) {
    arenaSize = max(size, arenaSize * 2)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: arenaSize, alignment: 1)
    larger.copyMemory(from: arena, byteCount: bytes)
    arena.deallocate()
    arena = larger
  }

  private func isBytes(_ column: Int) -> Bool {
    types[column] == MYSQL_TYPE_BLOB || types[column] == MYSQL_TYPE_STRING
  }

  /// Where each column is, for the library; nothing is filled in afterwards.
  ///
  /// Of an array of texts the library wants pointers to them, of one text that pointer.
  func bound(asArray: Bool) -> UnsafeMutablePointer<MYSQL_BIND> {
    if !isPlaced {
      for column in 0..<columns where isBytes(column) {
        for cell in (column * room)..<(column * room + count) {
          words[cell] = Int64(Int(bitPattern: arena) + Int(words[cell]))
        }
      }
      isPlaced = true
    }
    for column in 0..<columns {
      let first = column * room
      var type = types[column]
      // A column of NULLs alone has no kind; for an array any will do.
      if asArray, type == MYSQL_TYPE_NULL { type = MYSQL_TYPE_LONGLONG }
      let values: UnsafeMutableRawPointer? =
        isBytes(column) && !asArray
        ? UnsafeMutableRawPointer(bitPattern: Int(words[first]))
        : UnsafeMutableRawPointer(words + first)
      flotilla_mysql_bind(
        binds + column, Int32(type.rawValue), values, lengths + first,
        asArray ? indicators + first : nil)
    }
    return binds
  }
}
