/// Writes a name as an SQL identifier: in double quotes, quotes inside doubled.
package func quoted(_ name: String) -> String { doubling(UInt8(ascii: "\""), in: name) }

/// Writes a text as an SQL string literal.
package func literal(_ text: String) -> String { doubling(UInt8(ascii: "'"), in: text) }

/// Works on bytes: to Swift a quote with a combining mark after it is another character.
private func doubling(_ quote: UInt8, in text: String) -> String {
  var bytes = [quote]
  for byte in text.utf8 {
    bytes.append(byte)
    if byte == quote { bytes.append(quote) }
  }
  bytes.append(quote)
  return String(decoding: bytes, as: UTF8.self)
}
