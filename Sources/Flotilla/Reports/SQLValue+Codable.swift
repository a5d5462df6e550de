import FoundationEssentials

/// JSON: a blob is `{"base64":…}`, text that is not UTF-8 `{"base64_text":…}`, integers beyond 2^53
/// are strings.
extension SQLValue: Codable {
  private struct Bytes: Codable {
    var base64: String?
    var base64_text: String?
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
      let bytes = try box.decode(Bytes.self)
      switch (bytes.base64, bytes.base64_text) {
      case (let blob?, nil): self = .blob(try Self.bytes(blob, in: box))
      case (nil, let text?): self = .malformedText(try Self.bytes(text, in: box))
      default:
        throw DecodingError.dataCorruptedError(
          in: box, debugDescription: "a value that is an object has base64 or base64_text in it")
      }
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var box = encoder.singleValueContainer()
    switch self {
    case .null: try box.encodeNil()
    case .integer(let value) where value.magnitude > 1 << 53: try box.encode(String(value))
    case .integer(let value): try box.encode(value)
    case .real(let value) where value.isFinite: try box.encode(value)
    case .real(let value): try box.encode(value > 0 ? "Infinity" : "-Infinity")
    case .text(let value): try box.encode(value)
    case .blob(let bytes): try box.encode(["base64": Data(bytes).base64EncodedString()])
    case .malformedText(let bytes):
      try box.encode(["base64_text": Data(bytes).base64EncodedString()])
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
