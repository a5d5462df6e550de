import Foundation

/// The rule for sentences of pages and comments: at most 30 words, so that they can be read once.
enum SentenceRule {
  static let words = 30

  /// Sentences of a page that are too long. Tables, headings and blocks of code have none.
  static func inPage(_ file: TextFile) -> [Finding] {
    var (isCode, paragraphs) = (false, [Paragraph]())
    for (number, line) in file.lines.enumerated() {
      let text = line.trimmed()
      if text.hasPrefix("```") { isCode.toggle() }
      if isCode || text.isEmpty || ["|", "#", "```"].contains(where: text.hasPrefix) {
        paragraphs.append(Paragraph(line: number + 2))
        continue
      }
      let item = withoutBullet(text)
      if item.startIndex != text.startIndex { paragraphs.append(Paragraph(line: number + 1)) }
      if paragraphs.isEmpty { paragraphs.append(Paragraph(line: number + 1)) }
      paragraphs[paragraphs.count - 1].text += " " + item
    }
    return paragraphs.flatMap { findings($0, in: file.path) }
  }

  /// Sentences of comments that are too long. What somebody else has said is quoted as it is.
  static func inComments(_ file: TextFile) -> [Finding] {
    var (paragraphs, isOpen) = ([Paragraph](), false)
    for (number, line) in file.lines.enumerated() {
      // Found by bytes, for there are many lines.
      guard line.utf8.first(where: { $0 != UInt8(ascii: " ") }) == UInt8(ascii: "/") else {
        isOpen = false
        continue
      }
      let text = line.trimmed()
      let said = text.drop { $0 == "/" }.trimmed()
      if said.isEmpty || said.hasPrefix("- ") { isOpen = false }
      if !isOpen { paragraphs.append(Paragraph(line: number + 1)) }
      isOpen = !said.isEmpty
      paragraphs[paragraphs.count - 1].text += " " + said
    }
    return paragraphs.flatMap { findings($0, in: file.path, sparesQuotes: true) }
  }

  private struct Paragraph {
    /// Where it begins.
    var line: Int
    var text = ""
  }

  private static func findings(
    _ paragraph: Paragraph, in path: String, sparesQuotes: Bool = false
  ) -> [Finding] {
    // Few paragraphs are that long.
    guard paragraph.text.utf8.count > words * 2 else { return [] }
    return sentences(plain(paragraph.text)).compactMap { sentence in
      let count = sentence.count { $0.contains { $0.isLetter || $0.isNumber } }
      guard count > words, !(sparesQuotes && sentence.first?.hasPrefix("\"") == true) else {
        return nil
      }
      let start = sentence.prefix(6).joined(separator: " ")
      return Finding(
        path: path, line: paragraph.line, what: "a sentence of \(count) words: \(start) …")
    }
  }

  /// The words of each sentence. It ends behind a word with one of `.!?:;` at its end.
  private static func sentences(_ text: String) -> [[Substring]] {
    var found: [[Substring]] = [[]]
    for word in text.split(separator: " ") {
      found[found.count - 1].append(word)
      let end = word.last.map { "\")”".contains($0) } == true ? word.dropLast().last : word.last
      if let end, ".!?:;".contains(end) { found.append([]) }
    }
    return found
  }

  /// Code in a line is one word, and a link is what it shows.
  private static func plain(_ text: String) -> String {
    var result = ""
    for (place, part) in text.split(separator: "`", omittingEmptySubsequences: false).enumerated() {
      result += place.isMultiple(of: 2) ? String(part) : "code"
    }
    while let middle = result.range(of: "]("),
      let end = result[middle.upperBound...].firstIndex(of: ")")
    {
      result.removeSubrange(middle.lowerBound...end)
    }
    return result
  }

  private static func withoutBullet(_ text: Substring) -> Substring {
    if text.hasPrefix("- ") || text.hasPrefix("* ") { return text.dropFirst(2) }
    let rest = text.drop { $0.isNumber }
    return rest.startIndex != text.startIndex && rest.hasPrefix(". ") ? rest.dropFirst(2) : text
  }
}

extension Substring {
  fileprivate func trimmed() -> Substring {
    var rest = self
    while rest.first?.isWhitespace == true { rest.removeFirst() }
    while rest.last?.isWhitespace == true { rest.removeLast() }
    return rest
  }
}
