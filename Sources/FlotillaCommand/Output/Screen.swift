import FoundationEssentials
import Glibc

/// Draws some lines in place on a terminal, again and again, cut to what fits.
struct Screen {
  struct Size: Equatable {
    var columns: Int
    var rows: Int
  }

  /// How many lines stand there from the last time.
  private var drawn = 0

  /// The size of the terminal at a stream; 80 by 24 where it says nothing.
  static func size(of stream: Int32 = STDOUT_FILENO) -> Size {
    var window = winsize()
    guard ioctl(stream, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else {
      return Size(columns: 80, rows: 24)
    }
    return Size(columns: Int(window.ws_col), rows: Int(window.ws_row))
  }

  /// What a terminal is sent to show the text in place of the last one.
  ///
  /// "CSI Ps A: Cursor Up", "CSI K: Erase in Line", "CSI J: Erase in Display" (ECMA-48): nothing is
  /// cleared before it is written over, so nothing flickers.
  mutating func frame(_ text: String, in size: Size) -> String {
    let lines = Self.fitting(text, in: size)
    let up = drawn > 0 ? "\u{1b}[\(drawn)A" : ""
    drawn = lines.count
    return "\r" + up + lines.map { $0 + "\u{1b}[K\n" }.joined() + "\u{1b}[J"
  }

  /// As many lines and columns as there are; the last line says how many more there would be.
  static func fitting(_ text: String, in size: Size) -> [String] {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    let most = max(1, size.rows - 1)
    if lines.count > most {
      let left = lines.count - most + 1
      lines = lines.prefix(most - 1) + ["… and \(left) more lines"]
    }
    return lines.map { cut($0, to: size.columns) }
  }

  /// Parts in a line, with a dot between two; in several lines where one is too short.
  static func lines(of parts: [String], within columns: Int) -> String {
    var lines: [String] = []
    for part in parts {
      if let line = lines.last, displayWidth(line) + displayWidth(part) + 3 <= columns {
        lines[lines.count - 1] = line + " · " + part
      } else {
        lines.append(lines.isEmpty ? part : "  " + part)
      }
    }
    return lines.joined(separator: "\n")
  }

  /// Cuts a line; colours take no column, and end where it is cut.
  static func cut(_ line: String, to columns: Int) -> String {
    var width = 0
    var result = ""
    var isCode = false
    var isColoured = false
    for character in line {
      if character == "\u{1b}" {
        isCode = true
        isColoured = true
      }
      if !isCode {
        let next = displayWidth(String(character))
        if width + next > columns {
          // The last column says that there was more.
          while !result.isEmpty, displayWidth(result) > 0, width > columns - 1 {
            guard let last = result.popLast() else { break }
            width -= displayWidth(String(last))
          }
          return result + "…" + (isColoured ? "\u{1b}[0m" : "")
        }
        width += next
      }
      result.append(character)
      if isCode, character == "m" { isCode = false }
    }
    return result
  }
}

/// Numbers as a line of bars: `▁▃█`.
enum Sparkline {
  private static let bars = Array("▁▂▃▄▅▆▇█")

  /// The lowest bar is nothing at all; the highest the largest of the numbers.
  static func text(_ numbers: [Int]) -> String {
    let largest = max(1, numbers.max() ?? 1)
    return String(
      numbers.map { number in
        guard number > 0 else { return bars[0] }
        return bars[max(1, Int((Double(number) / Double(largest) * 7).rounded()))]
      })
  }
}
