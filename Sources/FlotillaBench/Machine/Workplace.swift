import Foundation
import Glibc

/// A folder of one measurement, removed with all that is in it.
final class Workplace {
  let folder: String

  /// The programs beside this one.
  static let programs = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().path
  static let flotilla = "\(programs)/flotilla"
  static let itself = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path

  /// Makes it on disk, or, if the disk is not what is measured, in memory where that can be had.
  init(inMemory: Bool = false) throws {
    let isThere = inMemory && access(Self.memory, W_OK) == 0
    let above = isThere ? Self.memory : NSTemporaryDirectory()
    var template = Array("\(above)/flotilla-bench-XXXXXX".utf8CString)
    guard let path = mkdtemp(&template) else { throw BenchError("cannot make a folder") }
    self.folder = String(cString: path)
    Leftovers.add(folder)
  }

  /// A file system in memory (shm_overview(7): "normally mounted under /dev/shm").
  private static let memory = "/dev/shm"

  deinit { Leftovers.remove(folder) }

  /// Environment of all programs: control sockets in this folder, too.
  var environment: [String: String] { ["XDG_RUNTIME_DIR": folder] }

  /// Starts `flotilla` with arguments.
  func start(_ arguments: [String]) throws -> Child {
    guard access(Self.flotilla, X_OK) == 0 else {
      throw BenchError("\(Self.flotilla) is missing: swift build -c release --product flotilla")
    }
    return try Child([Self.flotilla] + arguments, in: folder, environment: environment)
  }

  /// Runs `flotilla` to its end; gives its output.
  @discardableResult
  func flotilla(_ arguments: [String], within limit: Duration = .seconds(30)) throws -> String {
    guard access(Self.flotilla, X_OK) == 0 else {
      throw BenchError("\(Self.flotilla) is missing: swift build -c release --product flotilla")
    }
    let child = try Child([Self.flotilla] + arguments, in: folder, environment: environment)
    return try child.wait(within: limit).output
  }

  /// Starts this program in another role, as a process of its own.
  func role(_ role: Role, _ arguments: String...) throws -> Child {
    try Child([Self.itself, "role", role.rawValue] + arguments, in: folder)
  }
}
