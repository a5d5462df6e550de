/// One database file as a replica of a site: the entry to everything that Flotilla does.
///
/// Each call asks the running node of that file over its control socket, or does the work
/// itself if no node runs.
public struct Replica: Sendable {
  /// The path of the database, as given.
  public let path: String

  /// The absolute path, as logs and systemd name it.
  public var database: String { sidecar.database }

  public init(path: String) {
    self.path = path
  }

  /// The port that its node took first, and takes whenever it is free; nil before its first start.
  package var port: UInt16? { (try? sidecar.record())?.port }
}
