/// Writes a name as an SQL identifier: in double quotes, quotes inside doubled.
package func quoted(_ name: String) -> String { quoted(name, by: "\"") }

/// Writes a text as an SQL string literal.
package func literal(_ text: String) -> String { quoted(text, by: "'") }

/// Writes bytes as an SQL blob literal: `X'00ff'`.
package func literal(_ bytes: [UInt8]) -> String {
  "X'" + bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "'"
}

/// Writes a number as an SQL literal. Of infinities there is none; what overflows becomes one.
package func literal(_ real: Double) -> String {
  real.isInfinite ? (real < 0 ? "-9e999" : "9e999") : "\(real)"
}

/// Writes a text between quotes, `it's` as `'it''s'`: those in it are doubled, or as `escapes` say.
///
/// The text may be anybody's, and what comes out is read by SQL, a shell or another program. So it
/// works on bytes: to Swift a quote with a combining mark after it is another character, and stays.
package func quoted(
  _ text: String, by quote: Unicode.Scalar, escapes: [Unicode.Scalar: String]? = nil
) -> String {
  // Most names hold nothing that is to be doubled.
  if escapes == nil, !text.utf8.contains(where: { Unicode.Scalar($0) == quote }) {
    return "\(quote)\(text)\(quote)"
  }
  let escapes = escapes ?? [quote: "\(quote)\(quote)"]
  var bytes = Array(String(quote).utf8)
  for byte in text.utf8 {
    if byte < 0x80, let escape = escapes[Unicode.Scalar(byte)] {
      bytes += Array(escape.utf8)
    } else {
      bytes.append(byte)
    }
  }
  bytes += Array(String(quote).utf8)
  return String(decoding: bytes, as: UTF8.self)
}
