import Replication
import Store

/// Members that are reached, and with whom no exchange succeeds.
extension Node {
  /// Tells what is known of failures with a member, and writes the line that is due.
  func note(_ input: Failures.Input, of node: Identity) {
    guard var peer = peers[node] else { return }
    let directive = peer.failures.receive(input, at: .now)
    guard peer.failures != peers[node]?.failures else { return }
    peers[node] = peer
    switch directive {
    case .failed(let bye, _, true)?:
      log("exchange with \(peer.name) fails: \(bye.reason)", about: peer.name, .warning)
    case .failed(let bye, let count, false)?:
      log(
        "exchange with \(peer.name) still fails, \(count) more times: \(bye.reason)",
        about: peer.name, .warning)
    case .works(let count)?:
      log("exchange with \(peer.name) works again after \(count) failed", about: peer.name)
    case nil: break
    }
  }

  /// An address was dialled in vain.
  func noteOutOfReach(_ address: String) {
    guard let node = mesh.node(at: address), peers[node]?.failures.isKnown == true,
      peers[node]?.session == nil
    else { return }
    note(.outOfReach, of: node)
  }
}
