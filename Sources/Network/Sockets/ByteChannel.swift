/// Bytes to and from one peer, in order: the seam between sockets, TLS and messages.
///
/// One task may read while another writes; several reads, or several writes, at once run one
/// after the other. Cancelling a task does not end its read or write; `close()` does.
package protocol ByteChannel: Sendable {
  /// The other end.
  var remote: Endpoint { get }

  /// Waits for bytes and returns 1 to `limit` of them, or none if the peer has closed.
  func read(upTo limit: Int) async throws(NetworkError) -> [UInt8]

  /// Returns when the system has taken all bytes, which is the back-pressure of a slow peer.
  func write(_ bytes: [UInt8]) async throws(NetworkError)

  /// Ends both directions at once, and with them every read and write that waits.
  func close()
}
