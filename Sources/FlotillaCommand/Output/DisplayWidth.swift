/// The number of columns that text takes on a terminal.
///
/// Counted by user-perceived characters: wide East Asian forms and emoji take two columns
/// (Unicode Standard Annex 11), a lone mark none, all else one.
func displayWidth(_ text: String) -> Int {
  if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
  return text.reduce(0) { $0 + displayWidth($1) }
}

private func displayWidth(_ character: Character) -> Int {
  guard let first = character.unicodeScalars.first else { return 0 }
  if first.properties.isEmojiPresentation { return 2 }
  if character.unicodeScalars.contains("\u{fe0f}") { return 2 }
  switch first.value {
  case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0xa4cf, 0xa960...0xa97c, 0xac00...0xd7a3,
    0xf900...0xfaff, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x1f300...0x1f64f,
    0x1f900...0x1f9ff, 0x20000...0x3fffd:
    return 2
  default: break
  }
  switch first.properties.generalCategory {
  case .nonspacingMark, .enclosingMark, .format: return 0
  default: return 1
  }
}

/// Fills text with blanks up to `width` columns, before it if `leading`.
func padded(_ text: String, to width: Int, leading: Bool = false) -> String {
  let blanks = String(repeating: " ", count: max(0, width - displayWidth(text)))
  return leading ? blanks + text : text + blanks
}
