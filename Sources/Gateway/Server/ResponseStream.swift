import Synchronization

/// The body of an answer that is written bit by bit, from any thread.
///
/// A client that does not read loses its connection: it comes again, and says where it was.
package final class ResponseStream: Sendable {
  private let number: Int
  private let mailbox: Mailbox
  private let isOpen = Atomic(true)

  init(_ number: Int, _ mailbox: Mailbox) { (self.number, self.mailbox) = (number, mailbox) }

  /// False once the client is gone.
  func write(_ bytes: [UInt8]) -> Bool {
    guard isOpen.load(ordering: .acquiring) else { return false }
    if !bytes.isEmpty { mailbox.post(.part(number, bytes)) }
    return true
  }

  func write(_ text: String) -> Bool { write(Array(text.utf8)) }

  /// The client is gone.
  func close() { isOpen.store(false, ordering: .releasing) }
}
