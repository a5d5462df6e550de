import Flotilla

/// Makes text safe to show: what a peer or a row brings must not steer the terminal.
///
/// Control characters, marks that turn the direction of writing, and what takes no room are shown
/// as escapes.
func printable(_ text: String) -> String {
  if !text.unicodeScalars.contains(where: isSteering) { return text }
  return text.unicodeScalars.map { scalar in
    switch scalar {
    case "\n": "\\n"
    case "\t": "\\t"
    case "\r": "\\r"
    default: isSteering(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
    }
  }.joined()
}

private func isSteering(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.value {
  case 0...0x1f, 0x7f...0x9f, 0x2028, 0x2029, 0x202a...0x202e, 0x2066...0x2069: true
  // What nobody sees could hide what SQL does.
  case 0x61c, 0x200b, 0x200e, 0x200f, 0x2060...0x2064, 0xfeff: true
  default: false
  }
}

/// A path or name as one word of a shell, safe to show.
func shellWord(_ text: String) -> String { printable(Flotilla.shellWord(text)) }
