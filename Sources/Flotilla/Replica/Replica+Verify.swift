/// Proof that nodes are equal.
extension Replica {
  /// Compares every row with what this replica has noted of it, and with all other nodes or the one
  /// named; with `repairs` puts right what differs.
  public func verify(
    with peer: String? = nil, repairs: Bool = false, timeout: Duration = .seconds(30),
    progress: (@Sendable (WorkProgress) -> Void)? = nil
  ) async throws(FlotillaError) -> VerifyReport {
    let request = ControlRequest.verify(
      peer: peer, repairs: repairs, milliseconds: Int(timeout.milliseconds))
    return try await perform(request, within: timeout, telling: progress) {
      (node, rest) async throws(FlotillaError) in
      try await node.verify(with: peer, repairs: repairs, timeout: rest, telling: progress)
    }
  }
}
