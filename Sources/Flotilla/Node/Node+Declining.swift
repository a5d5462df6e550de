import Replication
import Store

/// Joiners that were let in and found that their file does not fit.
extension Node {
  /// What an inviter has given away for a code.
  struct Admission: Sendable {
    var fingerprint: String
    var name: String
    /// The last node that was let in before.
    var before: String?
  }

  /// The talk with a joiner is over; if it declines, code and name are free again.
  func endAdmission(_ session: PeerSession, _ bye: Bye, byPeer: Bool) async {
    guard let admission = admissions.removeValue(forKey: session.id), byPeer,
      bye.code == .declined
    else { return }
    do {
      try await store.run { (store) throws(StoreError) in
        try store.reopen(admission.fingerprint)
      }
    } catch {
      log("an invitation that was not used could not be opened again: \(error.message)")
    }
    namesGiven.remove(admission.name)
    if admitted == admission.name { admitted = admission.before }
    log("\(admission.name) did not join after all; its code can be used again")
    await advertise()
  }
}
