import Foundation

/// A text file of the project, with its path from the top of the tree.
struct TextFile: Sendable {
  let path: String
  let text: String

  /// The lines as written, without line ends.
  var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

  /// The part of the path after the last full stop, or nothing.
  var suffix: String { path.split(separator: ".").last.map(String.init) ?? "" }

  /// The target under Sources/ that the file belongs to.
  var target: String? {
    let parts = path.split(separator: "/")
    return parts.count > 2 && parts[0] == "Sources" ? String(parts[1]) : nil
  }
}

/// Something that breaks a rule of the house: where, and what.
struct Finding: Sendable, Equatable, CustomStringConvertible {
  let path: String
  let line: Int
  let what: String

  var description: String { "\(path):\(line): \(what)" }
}

/// The project's files as they are on disk.
enum Tree {
  static let top = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  /// Every text file of the project, read once.
  static let files: [TextFile] = {
    let folders = ["Sources", "Examples", "Tests", "docs", "scripts", ".ci"].flatMap(paths(under:))
    let loose = (try? FileManager.default.contentsOfDirectory(atPath: top)) ?? []
    return (folders + loose).sorted().compactMap { path in
      guard let data = FileManager.default.contents(atPath: "\(top)/\(path)") else { return nil }
      return String(data: data, encoding: .utf8).map { TextFile(path: path, text: $0) }
    }
  }()

  static var swift: [TextFile] { files.filter { $0.suffix == "swift" } }
  static var sources: [TextFile] { swift.filter { $0.target != nil } }
  static var scripts: [TextFile] { files.filter { ["sh", "py"].contains($0.suffix) } }
  static var pages: [TextFile] { files.filter { $0.suffix == "md" } }

  private static func paths(under folder: String) -> [String] {
    FileManager.default.enumerator(atPath: "\(top)/\(folder)")?
      .compactMap { $0 as? String }.map { "\(folder)/\($0)" } ?? []
  }
}
