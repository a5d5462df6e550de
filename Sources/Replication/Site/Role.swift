/// What a member may do on the whole; each role may do what the ones before it may.
package enum Role: UInt8, Sendable, Comparable, CaseIterable {
  /// Reads.
  case reader = 0
  /// Reads and writes.
  case writer = 1
  /// Sets merge rules as well, where the site has an anchor.
  case anchor = 2
  /// Admits and shuts out members, and grants rights.
  case admin = 3

  package init?(_ name: String) {
    guard let role = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = role
  }

  package var name: String {
    switch self {
    case .reader: "reader"
    case .writer: "writer"
    case .anchor: "anchor"
    case .admin: "admin"
    }
  }

  package static func < (left: Role, right: Role) -> Bool { left.rawValue < right.rawValue }
}

/// What a member may do with one table; each right includes the ones before it.
package enum Right: UInt8, Sendable, Comparable, CaseIterable {
  case none = 0
  case read = 1
  case write = 2

  package init?(_ name: String) {
    guard let right = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = right
  }

  package var name: String {
    switch self {
    case .none: "none"
    case .read: "read"
    case .write: "write"
    }
  }

  package static func < (left: Right, right: Right) -> Bool { left.rawValue < right.rawValue }
}
