/// Swift source in which comments, strings and quoted names are blanked out, byte for byte, so that
/// braces and words that are left are code.
struct SwiftCode {
  private(set) var bytes: [UInt8]
  private var at = 0

  init(_ source: String) {
    bytes = Array(source.utf8)
    while at < bytes.count { blankNext() }
  }

  var lines: [String] {
    bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// The line, from 1, that holds the byte at an offset.
  func line(of offset: Int) -> Int { bytes[..<offset].count { $0 == UInt8(ascii: "\n") } + 1 }

  private func starts(with text: StaticString, at place: Int) -> Bool {
    text.withUTF8Buffer { bytes[min(place, bytes.count)...].starts(with: $0) }
  }

  private mutating func blank(to end: Int) {
    let end = min(end, bytes.count)
    for place in at..<max(at, end) where bytes[place] != UInt8(ascii: "\n") {
      bytes[place] = UInt8(ascii: " ")
    }
    at = max(at, end)
  }

  private mutating func blankNext() {
    // Nearly every byte begins nothing of the kind.
    switch bytes[at] {
    case UInt8(ascii: "/"), UInt8(ascii: "#"), UInt8(ascii: "\""), UInt8(ascii: "`"): break
    default:
      at += 1
      return
    }
    if starts(with: "//", at: at) {
      blank(to: bytes[at...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count)
    } else if starts(with: "/*", at: at) {
      blank(to: endOfComment(from: at))
    } else if let end = endOfString(from: at) {
      blank(to: end)
    } else if starts(with: "`", at: at) {
      let rest = bytes[(at + 1)...]
      blank(to: (rest.firstIndex(of: UInt8(ascii: "`")) ?? bytes.count) + 1)
    } else {
      at += 1
    }
  }

  /// Block comments nest.
  private func endOfComment(from start: Int) -> Int {
    var place = start
    var depth = 0
    while place < bytes.count {
      if starts(with: "/*", at: place) {
        depth += 1
        place += 2
      } else if starts(with: "*/", at: place) {
        depth -= 1
        place += 2
        if depth == 0 { return place }
      } else {
        place += 1
      }
    }
    return place
  }

  /// Where the string or extended regular expression that begins here ends, or nil if none does.
  private func endOfString(from start: Int) -> Int? {
    var place = start
    while place < bytes.count, bytes[place] == UInt8(ascii: "#") { place += 1 }
    let hashes = place - start
    if hashes > 0, starts(with: "/", at: place) {
      return endOfLiteral(from: place + 1, quote: [UInt8(ascii: "/")], hashes: hashes)
    }
    guard starts(with: "\"", at: place) else { return nil }
    let long = starts(with: "\"\"\"", at: place)
    let quote = [UInt8](repeating: UInt8(ascii: "\""), count: long ? 3 : 1)
    return endOfLiteral(from: place + quote.count, quote: quote, hashes: hashes)
  }

  private func endOfLiteral(from start: Int, quote: [UInt8], hashes: Int) -> Int {
    let marks = [UInt8](repeating: UInt8(ascii: "#"), count: hashes)
    let end = quote + marks
    let escape = [UInt8(ascii: "\\")] + marks
    var place = start
    while place < bytes.count {
      if bytes[place...].starts(with: escape) {
        place += escape.count
        guard starts(with: "(", at: place) else {
          place += 1
          continue
        }
        place = endOfInterpolation(from: place)
      } else if bytes[place...].starts(with: end) {
        return place + end.count
      } else {
        place += 1
      }
    }
    return place
  }

  /// Code within a string: brackets nest, and it may hold strings again.
  private func endOfInterpolation(from start: Int) -> Int {
    var place = start
    var depth = 0
    while place < bytes.count {
      if let end = endOfString(from: place) {
        place = end
        continue
      }
      if bytes[place] == UInt8(ascii: "(") { depth += 1 }
      if bytes[place] == UInt8(ascii: ")") { depth -= 1 }
      place += 1
      if depth == 0 { return place }
    }
    return place
  }
}
