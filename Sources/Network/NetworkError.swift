import Glibc

/// What went wrong on the network: the kind, and one sentence without user data.
///
/// Addresses, names and paths are left out of the sentence, since the caller knows them and
/// decides whether they belong into its own message.
package struct NetworkError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure.
  package enum Code: Sendable, Hashable {
    /// The time was over before the thing was done, or a peer fell silent.
    case timedOut
    /// Somebody is there, but nobody listens at that port or path.
    case refused
    /// No route, no such host, no such interface, or no socket at that path.
    case unreachable
    /// The port or the path is in use by another process.
    case addressInUse
    /// This side has closed the channel or the listener, or the peer takes no more bytes.
    case closed
    /// The peer ended the connection without reading everything.
    case reset
    /// The text is no address, or the address cannot be used as it is.
    case invalidAddress
    /// What was to be announced does not fit into a record.
    case invalidAdvertisement
    /// The peer has not proved that it may talk to us.
    case untrusted
    /// The peer does not talk to us.
    case refusedByPeer(Refusal)
    /// What came is no TLS, or no TLS as nodes speak it.
    case notTLS
    /// The task was cancelled.
    case cancelled
    /// Any other error of the system, by its number.
    case system(Int32)
  }

  /// Why a peer does not talk to us, as far as it says so.
  package enum Refusal: Sendable, Hashable {
    case unknown
    case revoked
    case other
  }

  package let code: Code
  /// One sentence: what was tried and how it failed.
  package let message: String

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }

  /// The error for a call that failed with `number`, named by what it was to do.
  static func system(_ number: Int32, during attempt: String) -> NetworkError {
    NetworkError(code(for: number), "\(attempt): \(String(cString: strerror(number)))")
  }

  private static func code(for number: Int32) -> Code {
    switch number {
    case ETIMEDOUT: .timedOut
    case ECONNREFUSED: .refused
    case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, ENOENT: .unreachable
    case EADDRINUSE: .addressInUse
    case EPIPE, EBADF, ENOTCONN: .closed
    case ECONNRESET: .reset
    case EADDRNOTAVAIL, EAFNOSUPPORT: .invalidAddress
    default: .system(number)
    }
  }

  /// The answer of every call on something that this side has closed.
  static let closedHere = NetworkError(.closed, "closed by this side")
}
