/// One `sync` with one peer: done once an exchange went each way.
struct SyncProgress: Sendable {
  var sentRows = 0
  var receivedRows = 0
  var hasSent = false
  var hasReceived = false
  var error: String?

  mutating func exchanged(sent: Bool, rows: Int) {
    if sent {
      sentRows += rows
      hasSent = true
    } else {
      receivedRows += rows
      hasReceived = true
    }
  }

  var isDone: Bool { (hasSent && hasReceived) || error != nil }
}
