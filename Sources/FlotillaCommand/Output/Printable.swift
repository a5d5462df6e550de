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
  // What nobody sees could hide what SQL does, or make two names look alike. Joiners stay: Persian
  // and Hindi are written with them, and pictures of families.
  case 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b...0x180f: true
  case 0x200b, 0x200e, 0x200f: true
  case 0x2060...0x206f, 0x3164, 0xfeff, 0xffa0, 0xfff0...0xfffb, 0xe0000...0xe0fff: true
  default: false
  }
}

/// The same of lines that may have colours: a safeguard for what was forgotten to be made safe.
func printableLines(_ text: String) -> String {
  let scalars = text.unicodeScalars
  guard scalars.contains(where: { isSteering($0) && $0 != "\n" }) else { return text }
  var (shown, index) = ("", scalars.startIndex)
  while index < scalars.endIndex {
    let scalar = scalars[index]
    if scalar == "\u{1b}", let colour = colour(scalars[index...]) {
      shown += String(String.UnicodeScalarView(colour))
      index = colour.endIndex
      continue
    }
    shown += scalar == "\n" || scalar == "\t" ? String(scalar) : printable(String(scalar))
    index = scalars.index(after: index)
  }
  return shown
}

/// The sequence that sets a colour, if these begin with one: `ESC [ 1 ; 31 m`.
private func colour(
  _ scalars: Substring.UnicodeScalarView
) -> Substring.UnicodeScalarView? {
  let numbers = scalars.dropFirst(2).prefix { ("0"..."9").contains($0) || $0 == ";" }
  guard scalars.dropFirst().first == "[", numbers.endIndex < scalars.endIndex,
    scalars[numbers.endIndex] == "m"
  else { return nil }
  return scalars[scalars.startIndex...numbers.endIndex]
}

/// A path or name as one word of a shell, safe to show.
func shellWord(_ text: String) -> String { printable(Flotilla.shellWord(text)) }
