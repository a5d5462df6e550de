/// What dialling a peer at its wish has come to.
package enum Knocked: UInt8, Sendable, CaseIterable {
  /// The node itself answers there.
  case reached = 0
  /// The connection was refused.
  case refused = 1
  /// Nobody answers in time, or the host is out of reach.
  case silent = 2
  /// Somebody answers, and is not that node.
  case another = 3
  /// It was not tried: not so soon again, or not with so many others.
  case untried = 4
}

/// What a member calls the program that it runs, as `0.1.0`.
package enum ProgramName {
  /// Short, and safe to show wherever it comes from: printable ASCII without blanks.
  package static func isReadable(_ name: String) -> Bool {
    1...Limits.program ~= name.utf8.count && name.utf8.allSatisfy { 0x21...0x7E ~= $0 }
  }

  static func read(_ reader: inout ByteReader) throws(WireError) -> String {
    let name = try reader.text("Program", limit: Limits.program)
    guard isReadable(name) else { throw WireError(.malformed, "Program") }
    return name
  }
}

extension Knocked {
  init(from reader: inout ByteReader) throws(WireError) {
    guard let answer = Knocked(rawValue: try reader.byte("Knocked")) else {
      throw WireError(.malformed, "Knocked")
    }
    self = answer
  }
}

extension Message {
  /// Writes one of the messages that a member says of itself and of the peer's port.
  func writeKnocking(to body: inout ByteWriter) -> MessageType {
    switch self {
    case .program(let name):
      body.text(name)
      return .program
    case .knock: return .knock
    case .knocked(let answer):
      body.byte(answer.rawValue)
      return .knocked
    default: preconditionFailure("message \(self) has no encoding")
    }
  }
}
