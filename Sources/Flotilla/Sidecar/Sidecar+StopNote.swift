import CLinux
import Glibc

/// That a person has stopped the node: programs that have the file open do not start it again.
extension Sidecar {
  private var stopNote: String { folder + "/stopped" }

  /// When somebody has stopped the node, in ms since 1970; nil if it was started since.
  var stopped: Int64? {
    var status = stat()
    guard lstat(stopNote, &status) == 0 else { return nil }
    return Int64(status.st_mtim.tv_sec) * 1_000 + Int64(status.st_mtim.tv_nsec) / 1_000_000
  }

  func noteStop() throws(FlotillaError) { try SecretFile.write([], to: stopNote) }

  /// The node is started again, by somebody who wants it.
  func forgetStop() { removeFile(stopNote) }

  /// What somebody is told who only asks the node that was stopped.
  func refuseIfStopped(_ path: String) throws(FlotillaError) {
    guard let stopped else { return }
    throw FlotillaError(
      .node, "the node of \(path) was stopped with flotilla stop, at \(Node.text(stopped))",
      remedy: "Start it with: flotilla run \(shellWord(path)); or in a program with resume().")
  }
}
