/// Rows of text in aligned columns.
struct Table {
  /// A heading, how its column is set, and the gap to the next.
  struct Column {
    let heading: String
    var gap = 2
    var toTheRight = false
  }

  /// The text of one place, with the colour that it has where colour is wanted.
  struct Cell: ExpressibleByStringLiteral {
    let text: String
    var colour: Colour?

    init(_ text: String, _ colour: Colour? = nil) {
      self.text = printable(text)
      self.colour = colour
    }

    init(stringLiteral text: String) { self.init(text) }
  }

  let columns: [Column]
  var rows: [[Cell]] = []

  /// The table with its headings; no line ends in blanks.
  func text(colour: Bool) -> String {
    let headings = columns.map { Cell($0.heading) }
    let all = [headings] + rows
    let widths = columns.indices.map { place in
      all.map { displayWidth($0[place].text) }.max() ?? 0
    }
    return all.map { line($0, widths: widths, colour: colour) }.joined(separator: "\n")
  }

  private func line(_ cells: [Cell], widths: [Int], colour: Bool) -> String {
    var line = ""
    var blanks = 0
    for (place, cell) in cells.enumerated() {
      let fill = widths[place] - displayWidth(cell.text)
      if columns[place].toTheRight { blanks += fill }
      if !cell.text.isEmpty {
        line += String(repeating: " ", count: blanks)
        line += colour ? cell.colour?.paint(cell.text) ?? cell.text : cell.text
        blanks = 0
      }
      blanks += (columns[place].toTheRight ? 0 : fill) + columns[place].gap
    }
    return line
  }
}

/// The colours for states; the words beside them say the same.
enum Colour: Int, Sendable {
  case red = 31
  case green = 32
  case yellow = 33
  case grey = 90

  func paint(_ text: String) -> String { "\u{1b}[\(rawValue)m\(text)\u{1b}[0m" }
}
