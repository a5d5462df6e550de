import Foundation

/// A time of day that a program takes for the present one, by libfaketime.
///
/// For programs that write and end. Uptime stays right, as it does where somebody sets a clock, and
/// so do the times of files; but under libfaketime timers of Dispatch are late, which a node is
/// full
/// of.
struct FalseClock: Sendable {
  /// 2 March 2026, 00:00 UTC.
  private static let day: TimeInterval = 1_772_409_600

  /// The library, if it is here.
  static let library: String? = {
    let folder = "/usr/lib"
    let places = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return places.map { "\(folder)/\($0)/faketime/libfaketimeMT.so.1" }
      .first { FileManager.default.fileExists(atPath: $0) }
  }()

  /// As in "11:30:00".
  let time: String

  /// What stands before a program that shall have this clock.
  var words: [String] {
    let parts = time.split(separator: ":").compactMap { Double($0) }
    let moment = Self.day + parts.reduce(0) { $0 * 60 + $1 }
    let offset = Int((moment - Date().timeIntervalSince1970).rounded())
    return [
      "env", "LD_PRELOAD=\(Self.library ?? "")", "FAKETIME=\(offset < 0 ? "" : "+")\(offset)",
      "NO_FAKE_STAT=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
    ]
  }
}
