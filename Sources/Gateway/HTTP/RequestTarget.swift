/// The path and the query of a request, taken apart.
struct RequestTarget: Equatable {
  /// One name and value of the query.
  struct Parameter: Equatable {
    var name: String
    var value: String
  }

  /// The parts of the path between its slashes, still encoded.
  var path: [String]
  var parameters: [Parameter]

  /// How many parameters a query may have.
  static let mostParameters = 100
  /// So many bytes a target may have. What the gateway itself makes as a link is no longer.
  static let longest = 16 << 10

  init(_ target: String) throws(Problem) {
    guard target.utf8.count <= Self.longest else {
      throw Problem(
        414, "target",
        "path and query have \(target.utf8.count) bytes, and \(Self.longest) are taken",
        remedy: "Name rows by shorter values; POST and PATCH take long ones in the body.")
    }
    guard target.utf8.first == UInt8(ascii: "/"), !target.utf8.contains(UInt8(ascii: "#")) else {
      throw .badRequest("target", "the target of the request must be a path")
    }
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = parts[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false)
      .map(String.init)
    parameters = []
    guard parts.count == 2, !parts[1].isEmpty else { return }
    let pairs = parts[1].split(separator: "&", omittingEmptySubsequences: false)
    guard pairs.count <= Self.mostParameters else {
      throw .badRequest("query", "the query has more than \(Self.mostParameters) parameters")
    }
    for pair in pairs {
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      parameters.append(
        Parameter(
          name: try Self.decoded(sides[0], plusIsBlank: true),
          value: sides.count == 2 ? try Self.decoded(sides[1], plusIsBlank: true) : ""))
    }
  }

  /// Takes percent signs out; what they say must be UTF-8.
  static func decoded(
    _ text: some StringProtocol, plusIsBlank: Bool = false
  ) throws(Problem) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        let digits = rest.prefix(2)
        guard digits.count == 2, digits.allSatisfy({ isHexDigit($0) }),
          let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw .badRequest("encoding", "a percent sign needs two hexadecimal digits") }
        rest.removeFirst(2)
        bytes.append(value)
      } else {
        bytes.append(plusIsBlank && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    guard let decoded = String(validating: bytes, as: UTF8.self) else {
      throw .badRequest("encoding", "the target of the request is not UTF-8")
    }
    return decoded
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    Unicode.Scalar(byte).properties.isASCIIHexDigit
  }

  /// A text as a part of a path or query: all but letters, digits and `-._~` is encoded.
  static func encoded(_ text: [UInt8]) -> String {
    var result = ""
    for byte in text {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
        UInt8(ascii: "_"), UInt8(ascii: "~"):
        result.unicodeScalars.append(Unicode.Scalar(byte))
      default: result += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return result
  }

  static func encoded(_ text: String) -> String { encoded(Array(text.utf8)) }
}
