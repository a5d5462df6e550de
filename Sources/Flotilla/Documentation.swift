import FoundationEssentials

/// Where the pages of docs/ are that messages name.
package enum Documentation {
  /// The folder of the pages that were installed with this program, by where it stands:
  /// `/usr/bin/flotilla` has `/usr/share/doc/flotilla/docs/`. In a checkout it is `docs/`.
  package static let folder = folder(of: ProgramFile.own ?? "")

  /// The path of a page, such as `rules.md`.
  package static func page(_ name: String) -> String { folder + name }

  static func folder(of program: String) -> String {
    let parts = program.split(separator: "/").dropLast()
    guard program.hasPrefix("/"), parts.last == "bin" else { return "docs/" }
    let prefix = parts.dropLast().map { "/" + $0 }.joined()
    let installed = prefix + "/share/doc/flotilla/docs/"
    return FileManager.default.fileExists(atPath: installed) ? installed : "docs/"
  }
}
