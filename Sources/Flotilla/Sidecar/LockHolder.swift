import CLinux
import FoundationEssentials
import Glibc

/// A process that holds a lock on a file.
struct LockHolder: Sendable, Equatable {
  let process: pid_t
  /// The name of its program, if it can be read.
  var program: String?

  init(process: pid_t) {
    self.process = process
    let name = try? String(contentsOfFile: "/proc/\(process)/comm", encoding: .utf8)
    self.program = name.map(\.trimmed)
  }

  /// As it is named to people: "sqlite3 (process 708)".
  var text: String { program.map { "\($0) (process \(process))" } ?? "process \(process)" }
}

extension LockHolder {
  /// The process that holds a lock taken with `flock`.
  init?(of path: String) {
    guard let process = Self.find(path, { $0.kind == "FLOCK" }) else { return nil }
    self.init(process: process)
  }

  /// The other process that holds the write lock of a database in WAL mode.
  ///
  /// "WAL_WRITE_LOCK" is the first of eight locks "starting at offset 120" of the shared memory
  /// (sqlite.org/walformat.html). The file is only looked up: to open and close it here would
  /// release the locks that this process has on it.
  init?(writing database: String) {
    let found = Self.find(database + "-shm") { line in
      line.kind == "POSIX" && line.isWrite && line.range.contains(120)
    }
    guard let found, found != getpid() else { return nil }
    self.init(process: found)
  }

  private struct Line {
    var kind: Substring
    var isWrite: Bool
    var range: ClosedRange<UInt64>
  }

  /// A line of /proc/locks: "1: FLOCK ADVISORY WRITE 708 08:01:1073 0 EOF", with the process id,
  /// "MAJOR-DEVICE:MINOR-DEVICE:INODE-NUMBER" and the range of bytes (proc_locks(5)). One that
  /// waits for a lock has an arrow before its kind.
  private static func find(_ path: String, _ isWanted: (Line) -> Bool) -> pid_t? {
    var status = stat()
    guard stat(path, &status) == 0,
      let table = try? String(contentsOfFile: "/proc/locks", encoding: .utf8)
    else { return nil }
    for line in table.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count > 7, let process = pid_t(words[4]), process > 0,
        words[5].split(separator: ":").last.flatMap({ UInt64($0) }) == UInt64(status.st_ino),
        let start = UInt64(words[6])
      else { continue }
      let end = max(start, UInt64(words[7]) ?? .max)
      let read = Line(kind: words[1], isWrite: words[3] == "WRITE", range: start...end)
      if isWanted(read) { return process }
    }
    return nil
  }
}
