import Foundation

/// The rules for code. Each takes one file and gives what breaks it.
enum Rules {
  static let columns = 100
  static let linesPerFile = 400
  static let linesPerTestFile = 600
  static let linesPerFunction = 70

  static func lineLength(_ file: TextFile) -> [Finding] {
    findings(file.lines.map(String.init), in: file) { line in
      line.count > columns ? "\(line.count) columns, \(columns) allowed" : nil
    }
  }

  static func fileLength(_ file: TextFile) -> [Finding] {
    let allowed = file.path.hasPrefix("Tests/") ? linesPerTestFile : linesPerFile
    let count = file.lines.count - (file.text.hasSuffix("\n") ? 1 : 0)
    guard count > allowed else { return [] }
    return [Finding(path: file.path, line: count, what: "\(count) lines, \(allowed) allowed")]
  }

  static func functionLength(_ file: TextFile) -> [Finding] {
    SwiftCode(file.text).functions.filter { $0.length > linesPerFunction }.map {
      let what = "a function of \($0.length) lines, \(linesPerFunction) allowed"
      return Finding(path: file.path, line: $0.first, what: what)
    }
  }

  static func typeNames(_ file: TextFile) -> [Finding] {
    let vague =
      #/
      \b(?:struct|class|enum|actor|protocol|typealias)\s+
      (\w*(?:Manager|Helpers?|Utils?|Handler))\b
      /#
    return findings(SwiftCode(file.text).lines, in: file) { line in
      line.firstMatch(of: vague).map { "\($0.1) says nothing; name what it is" }
    }
  }

  /// Only programs with a person in front of them print.
  static func printing(_ file: TextFile) -> [Finding] {
    let programs = ["FlotillaCommand", "FlotillaBench", "FlotillaSimulator"]
    guard !programs.contains(file.target ?? ""),
      ["print(", "debugPrint(", "dump("].contains(where: file.text.contains)
    else { return [] }
    return findings(SwiftCode(file.text).lines, in: file) { line in
      line.contains(/(?:^|[^\w.])(?:debugPrint|print|dump)\(/) ? "prints" : nil
    }
  }

  /// What a person must vouch for, since the compiler does not check it: the line of each place.
  static func unchecked(_ file: TextFile) -> [Int] {
    // One look at the whole takes less than one at each line, and few files hold either.
    guard ["@unchecked", "unsafe"].contains(where: file.text.contains) else { return [] }
    return SwiftCode(file.text).lines.enumerated().filter {
      $0.element.contains(/@unchecked\s+Sendable|nonisolated\(unsafe\)/)
    }.map { $0.offset + 1 }
  }

  /// Unchecked code belongs to the C maps' wrappers and names its protection in a comment above.
  static func uncheckedPlaces(_ file: TextFile) -> [Finding] {
    unchecked(file).compactMap { line in
      guard ["SQLite", "Network"].contains(file.target) else {
        return Finding(path: file.path, line: line, what: "unchecked, outside SQLite and Network")
      }
      guard !isCommented(line, in: file) else { return nil }
      return Finding(path: file.path, line: line, what: "no comment above names the protection")
    }
  }

  static func imports(_ file: TextFile, allowed: [String: Set<String>]) -> [Finding] {
    guard let target = file.target else { return [] }
    guard let allowed = allowed[target] else {
      return [Finding(path: file.path, line: 1, what: "\(target) is in no line of the table")]
    }
    let form =
      #/
      ^\s*(?:@\w+(?:\(\w+\))?\s+)*(?:\w+\s+)?import\s+
      (?:(?:struct|class|enum|protocol|func|var|let|typealias)\s+)?(\w+)
      /#
    return findings(SwiftCode(file.text).lines, in: file) { line in
      guard let name = line.firstMatch(of: form)?.1, !allowed.contains(String(name)) else {
        return nil
      }
      return "\(target) may not import \(name)"
    }
  }

  static func publicTypes(_ file: TextFile) -> [Finding] {
    let form = /^\s*public\s+(?:(?:final|indirect)\s+)*(?:struct|class|enum|actor|protocol)\s+(\w+)/
    return SwiftCode(file.text).lines.enumerated().compactMap { index, line in
      guard let name = line.firstMatch(of: form)?.1 else { return nil }
      guard !isCommented(index + 1, in: file, with: "///") else { return nil }
      return Finding(path: file.path, line: index + 1, what: "\(name) has no summary")
    }
  }

  static func leftovers(_ file: TextFile) -> [Finding] {
    let words = ["TO" + "DO", "FIX" + "ME", "X" + "XX"].joined(separator: "|")
    let word = try! Regex("\\b(?:\(words))\\b")
    return findings(file.lines.map(String.init), in: file) { line in
      line.contains(word) ? "something is left to do; do it or say so in docs/limits.md" : nil
    }
  }

  /// Quotes are written byte by byte, in one place: to Swift a quote with a combining mark after it
  /// is another character, so it would pass as it is, and end what it stands in.
  static func quoting(_ file: TextFile) -> [Finding] {
    let form =
      #/
      \.replacing(?:Occurrences)?\(\s*(?:of:\s*)?"(?:['`%]|\\["\\n])"\s*,
      |\.split\(\s*separator:\s*"(?:['`%]|\\["\\])".*\.joined\(
      /#
    return findings(file.lines.map(String.init), in: file) { line in
      line.contains(form) ? "quotes by characters; use quoted(_:by:escapes:)" : nil
    }
  }

  /// Whether the line above, attributes aside, is a comment.
  private static func isCommented(
    _ line: Int, in file: TextFile, with mark: String = "//"
  ) -> Bool {
    let above = file.lines[..<(line - 1)].reversed().lazy.map { $0.drop { $0 == " " } }
    return above.first { !$0.hasPrefix("@") }?.hasPrefix(mark) ?? false
  }

  static func findings(
    _ lines: [String], in file: TextFile, _ rule: (String) -> String?
  ) -> [Finding] {
    lines.enumerated().compactMap { index, line in
      rule(line).map { Finding(path: file.path, line: index + 1, what: $0) }
    }
  }
}
