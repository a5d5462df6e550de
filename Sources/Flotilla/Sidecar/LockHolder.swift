import Foundation
import Glibc

/// The process that holds a lock taken with `flock`.
///
/// A line of /proc/locks: "1: FLOCK ADVISORY WRITE 708 08:01:1073 0 EOF", with the process id and
/// "MAJOR-DEVICE:MINOR-DEVICE:INODE-NUMBER" of the file (proc_locks(5)).
func lockHolder(of path: String) -> pid_t? {
  var status = stat()
  guard stat(path, &status) == 0,
    let table = try? String(contentsOfFile: "/proc/locks", encoding: .utf8)
  else { return nil }
  for line in table.split(separator: "\n") {
    let words = line.split(separator: " ")
    guard words.count > 5, words[1] == "FLOCK", let process = pid_t(words[4]), process > 0,
      words[5].split(separator: ":").last.flatMap({ UInt64($0) }) == UInt64(status.st_ino)
    else { continue }
    return process
  }
  return nil
}
