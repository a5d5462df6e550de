import Foundation

/// A clock that somebody sets while programs run: all that were started with it see the same.
///
/// libfaketime can change a running program's clock by a file, too, but mistakes the timers then.
struct SetClock: Sendable {
  /// Where it stands how far it is ahead.
  private let file: String

  init(_ file: String, ahead seconds: Int64) throws {
    self.file = file
    try Self.bytes(seconds).write(to: URL(filePath: file))
  }

  /// What stands before a program that shall have this clock.
  var words: [String] {
    ["env", "LD_PRELOAD=\(Desk.programs)/libClockShim.so", "CLOCK_OFFSET=\(file)"]
  }

  /// In place: programs have the file in their memory.
  func set(ahead seconds: Int64) throws {
    let handle = try FileHandle(forWritingTo: URL(filePath: file))
    defer { try? handle.close() }
    try handle.write(contentsOf: Self.bytes(seconds))
  }

  private static func bytes(_ seconds: Int64) -> Data {
    withUnsafeBytes(of: seconds) { Data($0) }
  }
}
