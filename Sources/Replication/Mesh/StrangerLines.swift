/// How much is written about strangers, about one member, and in all: the log must not fill the
/// disk.
///
/// A pure machine: so many lines a minute, and then the number of those that were left out.
package struct StrangerLines: Sendable {
  /// In one minute, at most.
  package static let most = 60
  package static let minute: Int64 = 60_000

  private var minute: Int64?
  private var written = 0
  private var leftOut = 0

  private let most: Int

  package init(most: Int = Self.most) { self.most = most }

  /// What is said of the lines that were left out before one.
  package static func remark(_ leftOut: Int) -> String {
    leftOut == 0 ? "" : " (\(leftOut) more such lines were left out)"
  }

  /// Asks for a line: nil if there is none to be had, else how many were left out before it.
  package mutating func take(at uptime: Int64) -> Int? {
    let now = uptime / Self.minute
    if now != minute {
      minute = now
      written = 0
    }
    guard written < most else {
      leftOut += 1
      return nil
    }
    written += 1
    defer { leftOut = 0 }
    return leftOut
  }
}
