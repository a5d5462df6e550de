import FoundationEssentials

/// JSON from which the same value comes back, with its type. A blob is `{"base64":…}`, text that is
/// not UTF-8 `{"base64_text":…}`; a REAL that reads like an integer, or is infinite, is
/// `{"real":"1.0"}`. For people, and programs that take numbers as doubles, there is `JSON`.
extension SQLValue: Codable {
  private struct Marked: Codable {
    var base64: String?
    var base64_text: String?
    var real: String?
  }

  public init(from decoder: any Decoder) throws {
    let box = try decoder.singleValueContainer()
    if box.decodeNil() {
      self = .null
    } else if let integer = try? box.decode(Int64.self) {
      self = .integer(integer)
    } else if let real = try? box.decode(Double.self) {
      self = .real(real)
    } else if let text = try? box.decode(String.self) {
      self = .text(text)
    } else {
      let marked = try box.decode(Marked.self)
      switch (marked.base64, marked.base64_text, marked.real.map(Double.init)) {
      case (let blob?, nil, nil): self = .blob(try Self.bytes(blob, in: box))
      case (nil, let text?, nil): self = .malformedText(try Self.bytes(text, in: box))
      case (nil, nil, let real??) where !real.isNaN: self = .real(real)
      default:
        throw DecodingError.dataCorruptedError(
          in: box,
          debugDescription: "a value that is an object has base64, base64_text or real in it")
      }
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var box = encoder.singleValueContainer()
    switch self {
    case .null: try box.encodeNil()
    case .integer(let value): try box.encode(value)
    case .real(let value) where value.isFinite && value != value.rounded(): try box.encode(value)
    case .real(let value): try box.encode(Marked(real: value.description))
    case .text(let value): try box.encode(value)
    case .blob(let bytes): try box.encode(Marked(base64: Data(bytes).base64EncodedString()))
    case .malformedText(let bytes):
      try box.encode(Marked(base64_text: Data(bytes).base64EncodedString()))
    }
  }

  private static func bytes(
    _ base64: String, in box: any SingleValueDecodingContainer
  ) throws -> [UInt8] {
    guard let data = Data(base64Encoded: base64) else {
      throw DecodingError.dataCorruptedError(in: box, debugDescription: "that is no base 64")
    }
    return [UInt8](data)
  }
}
