import Replication
import Synchronization

/// The appointments that a node has heard of, for its sessions to look at.
final class Docket: Sendable {
  private let known = Mutex<[Appointment]>([])

  var appointments: [Appointment] {
    get { known.withLock(\.self) }
    set { known.withLock { $0 = newValue } }
  }
}
