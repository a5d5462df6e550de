import FoundationEssentials
import Glibc

/// Whether what this process says goes to the journal of the system, which dates it by itself.
enum JournalStream {
  static var isStandardError: Bool {
    let named = ProcessInfo.processInfo.environment["JOURNAL_STREAM"]
    return names(STDERR_FILENO, in: named)
  }

  /// "the device and inode numbers […] separated by a colon" of the stream (systemd.exec(5)); a
  /// process further down may have another one and inherit the variable all the same.
  static func names(_ stream: Int32, in variable: String?) -> Bool {
    var status = stat()
    guard let variable, fstat(stream, &status) == 0 else { return false }
    return variable == "\(status.st_dev):\(status.st_ino)"
  }
}
