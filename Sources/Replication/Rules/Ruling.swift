/// A record of the anchor that is no row: that an edit was rejected, or that it took or left
/// office. It has a dot of its own and travels like a row.
package struct Ruling: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    case rejected(Reason)
    /// From here on the sender of this dot judges in its term.
    case tookOffice
    /// Nothing follows this in the terms before; it names no edit.
    case stoodDown

    package var rawValue: UInt8 {
      switch self {
      case .rejected(let reason): reason.rawValue
      case .tookOffice: 128
      case .stoodDown: 129
      }
    }

    package init?(rawValue: UInt8) {
      switch rawValue {
      case 128: self = .tookOffice
      case 129: self = .stoodDown
      default:
        guard let reason = Reason(rawValue: rawValue) else { return nil }
        self = .rejected(reason)
      }
    }
  }

  package var kind: Kind
  /// The edit that it is about; its own dot if it is about the office.
  package var edit: Dot
  /// The rule of the table when the edit was judged.
  package var rule: String

  /// Whether it tells who judges, and not what was judged.
  package var isAboutOffice: Bool {
    switch kind {
    case .rejected: false
    case .tookOffice, .stoodDown: true
    }
  }

  package init(_ kind: Kind, edit: Dot, rule: String) {
    self.kind = kind
    self.edit = edit
    self.rule = rule
  }
}
