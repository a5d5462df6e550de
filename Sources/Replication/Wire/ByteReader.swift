/// Reads the primitive fields of the protocol; checks every length before it takes memory.
package struct ByteReader {
  private let bytes: [UInt8]
  /// How many bytes were read.
  package private(set) var position: Int

  package init(_ bytes: [UInt8], from position: Int = 0) {
    precondition(position <= bytes.count, "reading from \(position) of \(bytes.count) bytes")
    self.bytes = bytes
    self.position = position
  }

  package var remaining: Int { bytes.count - position }
  package var isAtEnd: Bool { position == bytes.count }

  package mutating func byte(_ what: String) throws(WireError) -> UInt8 {
    guard position < bytes.count else { throw WireError(.truncated, what) }
    defer { position += 1 }
    return bytes[position]
  }

  /// Everything that was not read yet.
  package mutating func rest() -> [UInt8] {
    defer { position = bytes.count }
    return Array(bytes[position...])
  }

  package mutating func word(_ what: String) throws(WireError) -> UInt64 {
    guard remaining >= 8 else { throw WireError(.truncated, what) }
    defer { position += 8 }
    return bytes.withUnsafeBytes {
      UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    }
  }

  package mutating func uint(_ what: String) throws(WireError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), through: 63, by: 7) {
      let next = try byte(what)
      let bits = UInt64(next & 0x7F)
      guard shift < 63 || bits <= 1 else { throw WireError(.malformed, what) }
      value |= bits << shift
      if next & 0x80 == 0 { return value }
    }
    throw WireError(.malformed, what)
  }

  package mutating func int(_ what: String) throws(WireError) -> Int64 {
    let raw = try uint(what)
    return Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1)
  }

  /// A clock in ms since 1970, so bounded that differences of two never overflow.
  package mutating func clock(_ what: String) throws(WireError) -> Int64 {
    let clock = try int(what)
    guard -Limits.clock...Limits.clock ~= clock else { throw WireError(.malformed, what) }
    return clock
  }

  /// A number of things that follow, at most `limit`, each at least one byte long.
  package mutating func count(_ what: String, limit: Int) throws(WireError) -> Int {
    let value = try uint(what)
    guard value <= UInt64(limit) else { throw WireError(.tooLong, what) }
    guard value <= UInt64(remaining) else { throw WireError(.truncated, what) }
    return Int(value)
  }

  package mutating func blob(_ what: String, limit: Int) throws(WireError) -> [UInt8] {
    Array(try slice(what, limit: limit))
  }

  /// Exactly `count` bytes without a length before them.
  package mutating func raw(_ what: String, count: Int) throws(WireError) -> [UInt8] {
    guard remaining >= count else { throw WireError(.truncated, what) }
    defer { position += count }
    return Array(bytes[position..<position + count])
  }

  private mutating func slice(
    _ what: String, limit: Int
  ) throws(WireError) -> ArraySlice<UInt8> {
    let length = try uint(what)
    guard length <= UInt64(limit) else { throw WireError(.tooLong, what) }
    guard length <= UInt64(remaining) else { throw WireError(.truncated, what) }
    defer { position += Int(length) }
    return bytes[position..<position + Int(length)]
  }

  /// Well-formed UTF-8 without NUL.
  package mutating func text(_ what: String, limit: Int = Limits.name) throws(WireError)
    -> String
  {
    let content = try slice(what, limit: limit)
    guard !content.contains(0), let text = String(validating: content, as: UTF8.self) else {
      throw WireError(.malformed, what)
    }
    return text
  }

  package mutating func identity(_ what: String) throws(WireError) -> Identity {
    Identity(high: try word(what), low: try word(what))
  }

  package mutating func value(_ what: String) throws(WireError) -> Value {
    switch try byte(what) {
    case 0: return .null
    case 1: return .integer(try int(what))
    case 2:
      let real = Double(bitPattern: try word(what))
      // SQLite stores NaN as NULL, so no replica can have sent one.
      guard !real.isNaN else { throw WireError(.malformed, what) }
      return .real(real)
    case 3: return .text(try blob(what, limit: Limits.row))
    case 4: return .blob(try blob(what, limit: Limits.row))
    default: throw WireError(.malformed, what)
    }
  }

  /// Checks the next value, and makes no copy of it.
  mutating func skipValue(_ what: String) throws(WireError) {
    switch try byte(what) {
    case 3, 4: _ = try slice(what, limit: Limits.row)
    default:
      position -= 1
      _ = try value(what)
    }
  }

  package mutating func frontier(_ what: String) throws(WireError) -> Frontier {
    let count = try count(what, limit: Limits.frontierEntries)
    var entries: [Frontier.Entry] = []
    entries.reserveCapacity(count)
    for _ in 0..<count {
      let origin = Origin(rawValue: try word(what))
      let seq = try uint(what)
      guard entries.last.map({ $0.origin < origin }) ?? true, 1...(1 << 62) ~= seq else {
        throw WireError(.malformed, what)
      }
      entries.append(Frontier.Entry(origin: origin, seq: seq))
    }
    return Frontier(ascending: entries)
  }

  /// A count of things that nobody will ever reach the end of: at most 2⁶².
  package mutating func number(_ what: String) throws(WireError) -> UInt64 {
    let number = try uint(what)
    guard number <= 1 << 62 else { throw WireError(.malformed, what) }
    return number
  }

  package mutating func stamp(_ what: String) throws(WireError) -> Stamp {
    Stamp(rawValue: Int64(try number(what)))
  }

  /// A stamp as its distance from a later one.
  package mutating func stamp(_ what: String, before later: Stamp) throws(WireError) -> Stamp {
    let (raw, overflow) = later.rawValue.subtractingReportingOverflow(try int(what))
    guard !overflow, 0...Stamp.highest.rawValue ~= raw else { throw WireError(.malformed, what) }
    return Stamp(rawValue: raw)
  }

  package mutating func term(_ what: String) throws(WireError) -> Term {
    Term(number: try number(what), incarnation: try word(what))
  }

  package func finish(_ what: @autoclosure () -> String) throws(WireError) {
    guard isAtEnd else { throw WireError(.malformed, "\(what()): more bytes than fields") }
  }
}
