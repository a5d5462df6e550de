import Foundation

/// A wrong clock that a program takes for the right one, by libfaketime.
///
/// For programs that write and end. Uptime stays right, as it does where somebody sets a clock, and
/// so do the times of files; but under libfaketime timers of Dispatch are late, which a node is
/// full of.
struct FalseClock: Sendable {
  /// The library, if it is here.
  static let library: String? = {
    let folder = "/usr/lib"
    let places = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return places.map { "\(folder)/\($0)/faketime/libfaketimeMT.so.1" }
      .first { FileManager.default.fileExists(atPath: $0) }
  }()

  static let yearAhead = FalseClock(seconds: 365 * 86_400)
  static let yearBehind = FalseClock(seconds: -365 * 86_400)
  /// A machine without a battery behind its clock, just started.
  static let of1970 = FalseClock(seconds: 3_600 - Int(Date().timeIntervalSince1970))

  /// How far it is ahead.
  let seconds: Int

  /// What stands before a program that shall have this clock.
  var words: [String] {
    [
      "env", "LD_PRELOAD=\(Self.library ?? "")", "FAKETIME=\(seconds < 0 ? "" : "+")\(seconds)",
      "NO_FAKE_STAT=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
    ]
  }
}
