/// Who belongs to the site, as the signed statements have it.
package struct Roll: Sendable, Equatable {
  /// Why a member is none any more.
  package enum Ending: Sendable, Equatable {
    case revoked(by: Identity, at: Int64)
    case left(at: Int64)
  }

  /// A node that is, or was, a member.
  package struct Entry: Sendable, Equatable {
    package var node: Identity
    package var key: [UInt8]
    package var role: Role
    /// Who admitted it: an admin, or the site's root.
    package var admittedBy: Identity
    /// By the clock of who admitted it, ms since 1970.
    package var since: Int64
    package var name = ""
    package var words = ""
    /// What differs from what the role says, by table.
    package var tables: [String: Right] = [:]
    package var ending: Ending?
    /// In which lives nobody waits for it; nil if nobody has said so.
    package var forgotten: Set<UInt64>?

    /// Whether nobody waits for it, of which these lives are known.
    package func isForgotten(knowing lives: some Sequence<UInt64>) -> Bool {
      forgotten.map { forgotten in lives.allSatisfy { forgotten.contains($0) } } ?? false
    }

    package var isMember: Bool { ending == nil }

    /// An admin may do everything.
    package var rights: Rights {
      role == .admin
        ? .all : Rights(general: role == .reader ? .read : .write, tables: tables)
    }
  }

  package internal(set) var entries: [Identity: Entry] = [:]
  /// Who was made the anchor, the latest last.
  package internal(set) var appointments: [Appointment] = []
  /// Everybody who was made the anchor. In terms below the last one an admin counts whose word
  /// does not any more: what was certified before that was known stands in everybody's tables.
  package internal(set) var appointees = Appointees([])
  /// The highest number of an appointment, also of an admin whose word counts no more: nodes may
  /// have followed it.
  package internal(set) var highestTerm: UInt64 = 0
  /// Which origins count though nobody has signed for them; nil if all do, as in a site that a
  /// version before has founded.
  package internal(set) var exempt: Set<Origin>?
  /// The time of the newest statement that counts, by what it is about.
  package internal(set) var newest: [SiteStatement.Subject: Int64] = [:]

  package init() {}

  package func member(_ node: Identity) -> Entry? {
    entries[node].flatMap { $0.isMember ? $0 : nil }
  }

  package func hasLeft(_ node: Identity) -> Bool {
    if case .left? = entries[node]?.ending { true } else { false }
  }

  /// Who is the anchor: the last one appointed, if it is still a member.
  package var anchor: Entry? { appointments.last?.node.flatMap { member($0) } }

  package var members: [Entry] {
    entries.values.filter(\.isMember).sorted { $0.node < $1.node }
  }

  /// Everybody who was admitted once.
  package var everybody: [Entry] { entries.values.sorted { $0.node < $1.node } }
}

extension String {
  /// As SQLite compares names: capital ASCII letters are small ones.
  package var foldedForNames: String {
    String(decoding: utf8.map { 0x41...0x5A ~= $0 ? $0 + 0x20 : $0 }, as: UTF8.self)
  }
}
