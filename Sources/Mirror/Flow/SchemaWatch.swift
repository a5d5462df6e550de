import Flotilla
import SQLite

/// What both schemas were when they were looked at last, and when it is time to look again.
struct SchemaWatch {
  /// What stands for both schemas and what this node may do.
  struct Look: Equatable {
    var server: [Value]
    var site: Value
    var rights: [TableRight]
  }

  private static let interval = Duration.seconds(5)
  /// So often all of both schemas is looked at, though they seem to be what they were.
  private static let longestInterval = Duration.seconds(300)

  private var look: Look?
  private var lastSight = ContinuousClock.now
  private var lastLook = ContinuousClock.now

  /// Whether somebody is to look again; who asks does.
  mutating func isDue() -> Bool {
    guard ContinuousClock.now - lastSight > Self.interval else { return false }
    lastSight = .now
    return true
  }

  /// Whether every table is to be looked at, as who asks does then.
  mutating func isNews(_ now: Look) -> Bool {
    guard now != look || ContinuousClock.now - lastLook > Self.longestInterval else { return false }
    (look, lastLook) = (now, .now)
    return true
  }
}
