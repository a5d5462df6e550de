/// Which tables `init` and `track` choose.
public enum TableSelection: Sendable, Equatable {
  case none
  case all
  case named([String])
}

/// Whom `wait` waits for.
public enum WaitTarget: Sendable, Equatable {
  case all
  case anchor
  case node(String)
}

/// How `run` behaves.
public struct RunOptions: Sendable, Equatable {
  /// HOST:PORT to listen on; nil listens on every address at the remembered or default port.
  public var listen: String?
  /// Static peers, HOST:PORT each.
  public var peers: [String] = []
  /// Whether to find peers through Avahi.
  public var discovery = true
  /// Set for all but the first of several replicas, which cannot share one port.
  var triesNextPorts = false

  public init() {}
}
