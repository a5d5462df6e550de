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

  /// Why exchanges with a member fail, in words, and what helps.
  func failure(of peer: PeerRecord) -> (error: String, remedy: String)? {
    guard let failure = peer.failures.current else { return nil }
    let times = failure.count == 1 ? "" : " (\(failure.count) times by now)"
    let error =
      failure.isOurs
      ? "what \(peer.name) sends cannot be taken in: \(failure.bye.reason)"
      : "\(peer.name) refuses the exchange: \(failure.bye.reason)"
    return (error + times, remedy(failure, peer.name))
  }

  private func remedy(_ failure: Failures.Failure, _ name: String) -> String {
    switch failure.bye.code {
    case .version: "Update Flotilla on the machine with the older one."
    case .anotherSite: "Look at both with flotilla status: one of them has joined another site."
    case .notAllowed:
      "Compare the rights of both (flotilla members), and change them with flotilla grant."
    case .storage where failure.isOurs:
      "See what is wrong with this file: flotilla doctor \(shellWord(path))"
    case .storage: "See what is wrong with the file there: flotilla doctor DB on \(name)."
    default:
      "Update Flotilla on both machines to the same version; if it goes on, flotilla verify "
        + "\(shellWord(path)) and the logs of both tell more. All else that is here stays as it is."
    }
  }
}
