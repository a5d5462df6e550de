/// A function with a body, and the lines from its first word to its closing brace.
struct FunctionSpan: Equatable {
  let first: Int
  let last: Int

  var length: Int { last - first + 1 }
}

extension SwiftCode {
  /// All functions, initialisers, deinitialisers and subscripts that have a body.
  var functions: [FunctionSpan] {
    let words = ["func", "init", "deinit", "subscript"].map { Array($0.utf8) }
    return bytes.indices.compactMap { place in
      switch bytes[place] {
      case UInt8(ascii: "f"), UInt8(ascii: "i"), UInt8(ascii: "d"), UInt8(ascii: "s"): break
      default: return nil
      }
      guard let word = words.first(where: { isWord($0, at: place) }) else { return nil }
      guard let open = body(after: place + word.count, of: word) else { return nil }
      let close = closing(of: open)
      return FunctionSpan(first: line(of: place), last: line(of: min(close, bytes.count)))
    }
  }

  private func isWord(_ word: [UInt8], at place: Int) -> Bool {
    guard bytes[place...].starts(with: word) else { return false }
    if place > 0, isPart(bytes[place - 1]) || bytes[place - 1] == UInt8(ascii: ".") { return false }
    let end = place + word.count
    return end < bytes.count && !isPart(bytes[end])
  }

  private func isPart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }

  /// The opening brace of a declaration's body, or nil for a call, a label or a requirement.
  private func body(after place: Int, of word: [UInt8]) -> Int? {
    var place = place
    if word == Array("init".utf8) {
      guard place < bytes.count, Array("(?!<".utf8).contains(bytes[place]) else { return nil }
    }
    var depth = 0
    while place < bytes.count {
      switch bytes[place] {
      case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: ")"), UInt8(ascii: "]"):
        depth -= 1
        if depth < 0 { return nil }
      case UInt8(ascii: "{") where depth == 0: return place
      case UInt8(ascii: "}") where depth == 0: return nil
      case UInt8(ascii: "\n") where depth == 0 && !continues(after: place): return nil
      default: break
      }
      place += 1
    }
    return nil
  }

  /// Whether a signature goes on in the next line.
  private func continues(after newline: Int) -> Bool {
    let rest = bytes[(newline + 1)...].drop { $0 == UInt8(ascii: " ") || $0 == 10 }
    let goesOn = ["{", "->", "async", "throws", "rethrows", "where", "(", ")", "<", "==", ",", "&"]
    return goesOn.contains { rest.starts(with: Array($0.utf8)) }
      || bytes[..<newline].last.map { Array(",:&>=".utf8).contains($0) } == true
  }

  private func closing(of open: Int) -> Int {
    var depth = 0
    for place in open..<bytes.count {
      if bytes[place] == UInt8(ascii: "{") { depth += 1 }
      if bytes[place] == UInt8(ascii: "}") {
        depth -= 1
        if depth == 0 { return place }
      }
    }
    return bytes.count
  }
}
