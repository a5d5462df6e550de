import Replication
import Store

/// What a person should know beside the figures of `status`.
extension Node {
  var remarks: StatusRemarks {
    StatusRemarks(
      path: path, node: identity.name, isRunning: mode == .lasting, isOffline: mode == .offline,
      isPlaced: clock.now.site != nil, isWhole: rights.isWhole)
  }

  /// That this node is no member any more, or that others say so.
  var standing: StandingReport? {
    StandingReport(of: identity.node, in: roster.roll, isRefused: isShutOut, path)
  }
}
