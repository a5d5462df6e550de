import FoundationEssentials
import Glibc

/// Where the running node answers commands: a node that was started in another session, or by a
/// service, may have another runtime folder than whoever asks.
extension Sidecar {
  private var socketNote: String { folder + "/socket" }

  /// The control socket of the node that noted it last; it may be gone.
  var notedSocket: String? {
    guard let text = try? String(contentsOfFile: socketNote, encoding: .utf8), text.hasPrefix("/")
    else { return nil }
    return text
  }

  /// Notes the control socket; false if that failed.
  func noteSocket(_ path: String) -> Bool {
    // Whoever could write another path here would be asked, and told, in the node's place.
    (try? SecretFile.write(Array(path.utf8), to: socketNote)) != nil
  }

  func forgetSocket() { removeFile(socketNote) }

  /// Why nobody else can work on the database now, said to somebody who cannot ask the other
  /// process; `path` is the database as it was given.
  func occupied(_ path: String) -> FlotillaError {
    let process = holder.map(String.init)
    let who = "another Flotilla process\(process.map { " (\($0))" } ?? "") works on \(path)"
    guard let socket = notedSocket else {
      return FlotillaError(
        .node, who, remedy: "Try again when it has ended.",
        cause: "another process works on the database")
    }
    return FlotillaError(
      .node, "\(who) and cannot be asked from here: nobody answers on \(socket)",
      remedy: "Give the command where it can be reached (in the same container, say), or end it "
        + "with kill \(process ?? "PROCESS") and start it again here.",
      cause: "the process that works on the database cannot be asked")
  }
}
