import Foundation
import Glibc

/// What the kernel tells of a process (proc_pid_stat(5), proc_pid_status(5)).
struct ProcessFacts {
  let pid: pid_t

  /// The largest resident memory since the start or the last `resetPeak`, in MiB.
  var peakMiB: Double { field("VmHWM", in: "status") / 1_024 }

  /// What is in memory now.
  var residentKiB: Double { field("VmRSS", in: "status") }

  /// "5: reset the peak resident set size to the current value" (proc_pid_clear_refs(5)).
  func resetPeak() throws {
    let file = FileHandle(forWritingAtPath: "/proc/\(pid)/clear_refs")
    guard let file else { throw BenchError("cannot reset the peak memory of process \(pid)") }
    try file.write(contentsOf: Data("5".utf8))
    try file.close()
  }

  /// User and system time used so far, in seconds.
  var cpuSeconds: Double {
    // The name in parentheses may hold spaces; utime and stime are the 12th and 13th after it.
    let rest = text("stat").split(separator: ")").last ?? ""
    let words = rest.split(separator: " ")
    guard words.count > 12, let user = Double(words[11]), let system = Double(words[12]) else {
      return .nan
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  /// What it has caused to be written to disks (proc_pid_io(5)).
  var writtenBytes: Double { field("write_bytes", in: "io") }

  /// The number behind a name and a colon.
  private func field(_ name: String, in file: String) -> Double {
    let line = text(file).split(separator: "\n").first { $0.hasPrefix(name + ":") } ?? ""
    let words = line.split { $0 == " " || $0 == "\t" }
    return words.count > 1 ? Double(words[1]) ?? .nan : .nan
  }

  private func text(_ name: String) -> String {
    (try? String(contentsOfFile: "/proc/\(pid)/\(name)", encoding: .utf8)) ?? ""
  }
}
