/// The deliberate breakages of the product: the text that each replaces has to be there.
enum Breakages {
  /// Texts that a breakage names and that the product does not hold exactly once.
  static func stale(_ files: [TextFile]) -> [Finding] {
    let texts = Dictionary(files.map { ($0.path, $0.text) }) { first, _ in first }
    return files.filter { $0.path.hasPrefix("Tests/Mutations/") }.flatMap { breakage in
      edits(of: breakage).compactMap { edit in
        let count =
          (texts[edit.path] ?? "").split(
            separator: edit.old, omittingEmptySubsequences: false
          ).count - 1
        return count == 1
          ? nil
          : Finding(
            path: breakage.path, line: edit.line, what: "\(edit.path) holds this \(count) times")
      }
    }
  }

  private struct Edit {
    var path: String
    var line: Int
    var old: String
  }

  private static func edits(of file: TextFile) -> [Edit] {
    var (edits, path, old): ([Edit], String, [Substring]?) = ([], "", nil)
    for (number, line) in file.lines.enumerated() {
      switch line {
      case "<<<<": old = []
      case "====":
        guard let text = old else { continue }
        edits.append(
          Edit(
            path: path, line: number + 1 - text.count, old: text.map { $0 + "\n" }.joined()))
        old = nil
      default:
        if old != nil {
          old?.append(line)
        } else if line.hasPrefix("file: ") {
          path = String(line.dropFirst("file: ".count))
        }
      }
    }
    return edits
  }
}
