/// Reads SQL byte by byte into tokens, as sqlite.org/lang_expr.html and tokenize.c have them.
struct SQLReader {
  let bytes: [UInt8]
  private var position = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// The next token, or nil at the end.
  mutating func next() -> SQLToken? {
    skipSpace()
    guard let byte = peek() else { return nil }
    let start = position
    switch byte {
    case UInt8(ascii: "'"):
      return readQuoted(.string, from: start, closing: byte)
    case UInt8(ascii: "\""), UInt8(ascii: "`"):
      return readQuoted(.quoted, from: start, closing: byte)
    case UInt8(ascii: "["):
      return readQuoted(.quoted, from: start, closing: UInt8(ascii: "]"))
    case UInt8(ascii: "x"), UInt8(ascii: "X"):
      guard peek(1) == UInt8(ascii: "'") else { return readWord() }
      position += 1
      return readQuoted(.blob, from: start, closing: UInt8(ascii: "'"))
    case _ where isDigit(byte) || byte == UInt8(ascii: ".") && peek(1).map(isDigit) == true:
      return readNumber()
    case _ where isWord(byte):
      return readWord()
    default:
      position += 1
      return token(.symbol, from: start)
    }
  }

  private func peek(_ ahead: Int = 0) -> UInt8? {
    position + ahead < bytes.count ? bytes[position + ahead] : nil
  }

  private func token(_ kind: SQLToken.Kind, from start: Int, name: String? = nil) -> SQLToken {
    let range = start..<position
    return SQLToken(
      kind: kind, bytes: range, name: name ?? String(decoding: bytes[range], as: UTF8.self))
  }

  /// Passes white space, both kinds of comments, and a byte order mark where a token begins, which
  /// is white space to SQLite as well (tokenize.c, CC_BOM).
  private mutating func skipSpace() {
    while let byte = peek() {
      if byte == 0x20 || (0x09...0x0D).contains(byte) {
        position += 1
      } else if byte == 0xEF, peek(1) == 0xBB, peek(2) == 0xBF {
        position += 3
      } else if byte == UInt8(ascii: "-"), peek(1) == byte {
        while let byte = peek(), byte != 0x0A { position += 1 }
      } else if byte == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "*") {
        position += 2
        while peek() != nil, !(peek() == UInt8(ascii: "*") && peek(1) == UInt8(ascii: "/")) {
          position += 1
        }
        position = min(position + 2, bytes.count)
      } else {
        return
      }
    }
  }

  /// Reads to the closing quote; a doubled one stands for itself (not in square brackets).
  private mutating func readQuoted(
    _ kind: SQLToken.Kind, from start: Int, closing: UInt8
  ) -> SQLToken {
    var name: [UInt8] = []
    position += 1
    while let byte = peek() {
      position += 1
      if byte == closing {
        guard closing != UInt8(ascii: "]"), peek() == closing else { break }
        position += 1
      }
      name.append(byte)
    }
    return token(kind, from: start, name: String(decoding: name, as: UTF8.self))
  }

  private mutating func readWord() -> SQLToken {
    let start = position
    while let byte = peek(), isWord(byte) { position += 1 }
    return token(.word, from: start)
  }

  /// Reads 12, 0x1F, .5, 1e-9 and 1_000.
  private mutating func readNumber() -> SQLToken {
    let start = position
    let isHexadecimal = peek() == UInt8(ascii: "0") && peek(1).map { $0 | 0x20 } == 0x78
    while let byte = peek() {
      let isSign = byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
      let isExponent = !isHexadecimal && bytes[position - (position > start ? 1 : 0)] | 0x20 == 0x65
      guard isWord(byte) || byte == UInt8(ascii: ".") || isSign && isExponent else { break }
      position += 1
    }
    return token(.number, from: start)
  }

  private func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private func isWord(_ byte: UInt8) -> Bool {
    isDigit(byte) || byte >= 0x80 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}
