import Flotilla
import Foundation
import Glibc

/// A file in which a reader of changes keeps its place.
struct CursorFile: Sendable {
  let path: String

  init(_ path: String) { self.path = path }

  /// What it says; nil if there is no such file yet.
  func read() throws(FlotillaError) -> String? {
    guard access(path, F_OK) == 0 else { return nil }
    let text = (try? String(contentsOfFile: path, encoding: .utf8))?
      .trimmingCharacters(in: .whitespacesAndNewlines)
    guard let text, !text.isEmpty, text.utf8.count < 100 else {
      throw FlotillaError(
        .usage, "\(path) holds no cursor",
        remedy: "Remove it to begin with what changes from now on.")
    }
    return text
  }

  /// Puts another one there: whole and on disk, or not at all.
  func write(_ cursor: String) throws(FlotillaError) {
    let new = path + ".new"
    let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure() }
    let bytes = Array((cursor + "\n").utf8)
    let isWritten =
      Glibc.write(descriptor, bytes, bytes.count) == bytes.count && fsync(descriptor) == 0
    close(descriptor)
    guard isWritten, rename(new, path) == 0 else { throw failure() }
  }

  private func failure() -> FlotillaError {
    FlotillaError(
      .system, "cannot write the cursor to \(path): \(String(cString: strerror(errno)))")
  }
}
