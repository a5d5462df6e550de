import Replication
import SQLite

/// An invitation as the inviter keeps it: never the code itself.
package struct Invitation: Sendable, Equatable {
  package var fingerprint: String
  /// What the service on the air shows, so that the joiner finds its inviter.
  package var hint: String
  /// ms since 1970.
  package var expires: Int64
  package var role: String
  package var isUsed: Bool

  package init(fingerprint: String, hint: String, expires: Int64, role: String, isUsed: Bool) {
    self.fingerprint = fingerprint
    self.hint = hint
    self.expires = expires
    self.role = role
    self.isUsed = isUsed
  }
}

extension Store {
  /// Used and expired invitations are remembered this long, so that a joiner is told which it is.
  static let invitationMemory: Int64 = 7 * 24 * 3_600_000

  package func add(_ invitation: Invitation, at now: Instant) throws(StoreError) {
    _ = try reporting { () throws(SQLiteError) in
      try connection.run(
        "DELETE FROM _flotilla_invitation WHERE expires < ?",
        [.integer(now.wall - Self.invitationMemory)])
      try connection.run(
        "INSERT INTO _flotilla_invitation(fingerprint, hint, expires, role) VALUES (?, ?, ?, ?)",
        [
          .string(invitation.fingerprint), .string(invitation.hint),
          .integer(invitation.expires), .string(invitation.role),
        ])
    }
  }

  package func invitation(_ fingerprint: String) throws(StoreError) -> Invitation? {
    try reporting { () throws(SQLiteError) in
      try invitations(where: "fingerprint = ?", [.string(fingerprint)]).first
    }
  }

  /// Invitations that can still be used.
  package func openInvitations(at now: Instant) throws(StoreError) -> [Invitation] {
    try reporting { () throws(SQLiteError) in
      try invitations(where: "used IS NULL AND expires > ?", [.integer(now.wall)])
    }
  }

  /// Marks an invitation as used; false if somebody else was faster.
  package func use(_ fingerprint: String, at now: Instant) throws(StoreError) -> Bool {
    try reporting { () throws(SQLiteError) in
      try connection.run(
        """
        UPDATE _flotilla_invitation SET used = ?
        WHERE fingerprint = ? AND used IS NULL AND expires > ?
        """, [.integer(now.wall), .string(fingerprint), .integer(now.wall)]) > 0
    }
  }

  /// Lets an invitation be used after all: who used it has not joined.
  package func reopen(_ fingerprint: String) throws(StoreError) {
    _ = try reporting { () throws(SQLiteError) in
      try connection.run(
        "UPDATE _flotilla_invitation SET used = NULL WHERE fingerprint = ?",
        [.string(fingerprint)])
    }
  }

  private func invitations(
    where condition: String, _ values: [SQLite.Value]
  ) throws(SQLiteError) -> [Invitation] {
    try connection.rows(
      """
      SELECT fingerprint, hint, expires, role, used FROM _flotilla_invitation
      WHERE \(condition) ORDER BY expires
      """, values
    ).map { row in
      Invitation(
        fingerprint: row[0].string ?? "", hint: row[1].string ?? "",
        expires: row[2].integer ?? 0, role: row[3].string ?? "", isUsed: !row[4].isNull)
    }
  }
}
