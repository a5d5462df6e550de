/// What a joiner would join: told to who knows the code of an open invitation.
package struct Offer: Sendable, Equatable {
  package var siteName: String
  /// About how many rows the first copy has.
  package var rows: UInt64
  /// How many `schema` messages follow.
  package var objects: UInt64

  package init(siteName: String, rows: UInt64, objects: UInt64) {
    self.siteName = siteName
    self.rows = rows
    self.objects = objects
  }
}

/// A joiner agrees, and shows its key.
package struct Join: Sendable, Equatable {
  /// The name that the joiner would like.
  package var name: String
  /// Its public key, 32 bytes.
  package var key: [UInt8]
  /// Its signature, 64 bytes, over what only the two ends of this connection can compute.
  package var proof: [UInt8]

  package init(name: String, key: [UInt8], proof: [UInt8]) {
    self.name = name
    self.key = key
    self.proof = proof
  }
}

/// The inviter lets the joiner in.
package struct Admit: Sendable, Equatable {
  /// The public key of the site's root, which names the site.
  package var rootKey: [UInt8]
  /// The name that the joiner gets: its wish, or that with "-2".
  package var nodeName: String
  /// Its admission, and what that rests on.
  package var statements: [SignedStatement]

  package init(rootKey: [UInt8], nodeName: String, statements: [SignedStatement]) {
    self.rootKey = rootKey
    self.nodeName = nodeName
    self.statements = statements
  }
}

/// One object of the site's schema, as SQLite's schema table has it, or what tells which migrations
/// have made that schema.
package struct SchemaObject: Sendable, Equatable {
  package enum Kind: UInt8, Sendable {
    case table = 0
    case index = 1
    case view = 2
    case trigger = 3
    /// A row of a migration tool's book, which is named.
    case entry = 4
    /// A number in the head of the file, which has the name of a PRAGMA and no column.
    case number = 5

    var hasSQL: Bool { self != .entry && self != .number }
  }

  /// One value of a row.
  package struct Field: Sendable, Equatable {
    package var column: String
    package var value: Value

    package init(column: String, value: Value) { (self.column, self.value) = (column, value) }
  }

  package var kind: Kind
  package var name: String
  package var sql: String
  /// Of a row; none for what SQL says.
  package var fields: [Field] = []

  package init(kind: Kind, name: String, sql: String) {
    self.kind = kind
    self.name = name
    self.sql = sql
  }

  package init(_ kind: Kind, of name: String, _ fields: [Field]) {
    self.init(kind: kind, name: name, sql: "")
    self.fields = fields
  }

  func writeFields(to writer: inout ByteWriter) {
    writer.uint(fields.count)
    for field in fields {
      writer.text(field.column)
      writer.value(field.value)
    }
  }

  /// About how many bytes it takes.
  package var size: Int {
    fields.reduce(sql.utf8.count + name.utf8.count) { sum, field in
      switch field.value {
      case .text(let bytes), .blob(let bytes): sum + field.column.utf8.count + bytes.count
      default: sum + field.column.utf8.count + 9
      }
    }
  }
}

/// Ends the connection with a reason that a person understands.
package struct Bye: Sendable, Equatable {
  /// Codes are stable; a receiver treats an unknown one as `other`.
  package struct Code: Sendable, Hashable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static let other = Code(rawValue: 0)
    package static let stopping = Code(rawValue: 1)
    package static let version = Code(rawValue: 2)
    package static let anotherSite = Code(rawValue: 3)
    package static let badMessage = Code(rawValue: 4)
    package static let duplicate = Code(rawValue: 5)
    package static let silent = Code(rawValue: 6)
    package static let invitationUnknown = Code(rawValue: 7)
    package static let invitationUsed = Code(rawValue: 8)
    package static let invitationExpired = Code(rawValue: 9)
    package static let oneself = Code(rawValue: 10)
    package static let storage = Code(rawValue: 11)
    package static let leaving = Code(rawValue: 12)
    package static let busy = Code(rawValue: 13)
    package static let revoked = Code(rawValue: 14)
    package static let notAllowed = Code(rawValue: 15)
    package static let twin = Code(rawValue: 16)
  }

  package var code: Code
  package var reason: String

  package init(_ code: Code, _ reason: String) {
    self.code = code
    self.reason = reason
  }
}
