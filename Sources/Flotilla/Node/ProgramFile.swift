import FoundationEssentials
import Glibc

/// The file of the program that this process runs.
package enum ProgramFile {
  /// What became of it since the process was started.
  enum Fate: Equatable {
    case replaced(String)
    case removed(String)
  }

  /// Nil while it is what lies at its place. Only of `flotilla` itself: another program with the
  /// library in it is its owner's affair.
  ///
  /// "If the pathname has been unlinked, the symbolic link will contain the string ' (deleted)'
  /// appended to the original pathname" (proc_pid_exe(5)).
  static func fate(_ link: String? = own) -> Fate? {
    let sign = " (deleted)"
    guard let link, link.hasSuffix(sign) else { return nil }
    let place = String(link.dropLast(sign.count))
    guard place.split(separator: "/").last == "flotilla" else { return nil }
    return access(place, F_OK) == 0 ? .replaced(place) : .removed(place)
  }

  /// Where it lies; nil where /proc cannot be read.
  package static var own: String? {
    try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  }

  /// What a person should know of it; `path` is the database.
  static func remark(_ fate: Fate?, _ path: String) -> String? {
    switch fate {
    case nil: nil
    case .replaced(let place):
      "the node runs a program that was replaced at \(place) since: \(restart(path))"
    case .removed(let place):
      "the node still runs, and its program was removed from \(place): end it with kill "
        + "\(getpid()), or install Flotilla again and start it anew"
    }
  }

  /// How a node gets the program that is installed; with the options that it had.
  static func restart(_ path: String) -> String {
    "start it again, with the options that it had: flotilla stop \(shellWord(path)); flotilla run "
      + "\(shellWord(path)) --background"
  }
}
