/// Why bytes from a peer were refused.
package struct WireError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: Sendable {
    case truncated
    case tooLong
    case malformed
    case unknownType
    /// The sender may not send it.
    case notAllowed
  }

  package let code: Code
  package let what: String

  package init(_ code: Code, _ what: String) {
    self.code = code
    self.what = what
  }

  package var description: String {
    switch code {
    case .truncated: "\(what) ends too early"
    case .tooLong: "\(what) is too long"
    case .malformed: "\(what) is malformed"
    case .notAllowed: "\(what) may not come from there"
    case .unknownType: "unknown message type \(what)"
    }
  }
}
