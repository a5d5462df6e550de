import FoundationEssentials

/// A page in the language of man(7).
struct Roff {
  /// What a section is made of.
  enum Part: Equatable {
    case plain(String)
    /// Lines that are kept as they are, such as commands to type.
    case example([String])
    /// A word and what it means.
    case term(String, String)
    /// How something is called; words in capitals stand for something else.
    case usage([String])
  }

  private(set) var text: String

  /// The day is one of the version, not of today: the page is the same whenever it is made. Lines
  /// end where words do (`.ad l`), and no word is divided (`.nh`): it may be one that is typed.
  init(title: String, day: String, source: String) {
    let words = ".TH \(Self.quoted(title.uppercased())) 1 \"\(day)\" \(Self.quoted(source))"
    text = words + " \"Flotilla\"\n.ad l\n.nh\n"
  }

  /// Adds a section; one without content is left out.
  mutating func section(_ heading: String, _ parts: [Part]) {
    guard !parts.isEmpty else { return }
    text += ".SH \(heading.uppercased())\n"
    for (place, part) in parts.enumerated() {
      switch part {
      case .plain(let words):
        if place > 0 { text += ".PP\n" }
        text += Self.line(words) + "\n"
      case .example(let lines):
        text += ".PP\n.RS 4\n.nf\n" + lines.map { Self.line($0) + "\n" }.joined() + ".fi\n.RE\n"
      case .term(let term, let meaning):
        text += ".TP\n\\fB" + Self.escaped(term) + "\\fR\n" + Self.line(meaning) + "\n"
      case .usage(let words):
        if place > 0 { text += ".br\n" }
        text += words.map { Self.emphasised($0) }.joined(separator: " ") + "\n"
      }
    }
  }

  /// Takes text that was wrapped by hand apart: paragraphs, and what is indented.
  static func parts(_ text: String) -> [Part] {
    var parts: [Part] = []
    var words: [Substring] = []
    var example: [String] = []
    func end() {
      if !words.isEmpty { parts.append(.plain(words.joined(separator: " "))) }
      if !example.isEmpty { parts.append(.example(example)) }
      (words, example) = ([], [])
    }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.isEmpty || line.hasPrefix("  ") != !example.isEmpty { end() }
      if line.hasPrefix("  ") {
        example.append(String(line.dropFirst(2)))
      } else if !line.isEmpty {
        words.append(line)
      }
    }
    end()
    return parts
  }

  /// A line of text: what stands between backticks is set in bold.
  private static func line(_ text: String) -> String {
    let pieces = text.split(separator: "`", omittingEmptySubsequences: false)
    guard pieces.count % 2 == 1 else { return guarded(escaped(text)) }
    let set = pieces.enumerated().map { place, piece in
      place % 2 == 0 ? escaped(String(piece)) : "\\fB" + escaped(String(piece)) + "\\fR"
    }
    return guarded(set.joined())
  }

  private static func emphasised(_ word: String) -> String {
    word.contains { $0.isUppercase } || "[(|".contains(word.first ?? " ")
      ? guarded(escaped(word)) : "\\fB" + escaped(word) + "\\fR"
  }

  /// A full stop or an apostrophe at the beginning of a line would be a request.
  private static func guarded(_ line: String) -> String {
    line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
  }

  /// "\-" is the sign that is typed; "-" alone may come out as a hyphen (groff_char(7)). A line may
  /// break at "\:", so that JSON, which has no blanks, fits on a page.
  private static func escaped(_ text: String) -> String {
    unbroken(text).replacing(",\"", with: ",\\:\"")
  }

  private static func unbroken(_ text: String) -> String {
    text.map { character in
      switch character {
      case "\\": "\\e"
      case "-": "\\-"
      case "…": "..."
      default: String(character)
      }
    }.joined()
  }

  private static func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }
}
