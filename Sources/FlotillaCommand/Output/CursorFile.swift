import Flotilla
import FoundationEssentials
import Glibc

/// A file in which a reader of changes keeps its place.
struct CursorFile: Sendable {
  let path: String

  init(_ path: String) { self.path = path }

  /// What it says; nil if there is no such file yet.
  func read() throws(FlotillaError) -> String? {
    guard access(path, F_OK) == 0 else { return nil }
    let text = (try? ShortFile.read(path)).map { String(decoding: $0, as: UTF8.self).trimmed }
    guard let text, !text.isEmpty, text.utf8.count < 100 else {
      throw FlotillaError(
        .refused, "\(path) holds no cursor",
        remedy: "Remove it to begin with what changes from now on.")
    }
    return text
  }

  /// Puts another one there: whole and on disk, or not at all.
  func write(_ cursor: String) throws(FlotillaError) {
    try SecretFile.write(Array((cursor + "\n").utf8), toNamed: path)
  }
}
