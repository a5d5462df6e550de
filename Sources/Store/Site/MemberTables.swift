import Replication
import SQLite

/// The members of the site as this file knows them: whom it has met, who writes under which origin,
/// and what was signed about them.
package struct MemberTables {
  let connection: Connection
  let meta: Meta

  init(_ connection: Connection, _ meta: Meta) {
    (self.connection, self.meta) = (connection, meta)
  }

  package func peers() throws(StoreError) -> [KnownPeer] {
    try reporting { () throws(SQLiteError) in
      try connection.rows(
        """
        SELECT node, name, address, seen, offset, frontier FROM _flotilla_peer
        ORDER BY name, node
        """
      ).compactMap { row in
        guard let node = row[0].string.flatMap(Identity.init) else { return nil }
        var reader = ByteReader(row[5].blob ?? [0])
        return KnownPeer(
          node: node, name: row[1].string ?? "", address: row[2].string, seen: row[3].integer,
          clockOffset: row[4].integer ?? 0,
          frontier: (try? reader.frontier("peer")) ?? Frontier())
      }
    }
  }

  /// Remembers members, all in one commit.
  package func save(_ peers: [KnownPeer]) throws(StoreError) {
    guard !peers.isEmpty else { return }
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        for peer in peers { try save(peer) }
      }
    }
  }

  /// Forgets a member that has left the site.
  package func forget(_ node: Identity) throws(StoreError) {
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        try connection.run(
          "DELETE FROM _flotilla_peer WHERE node = ?", [.string(node.description)])
        try ProgressTable(connection).clear(node)
      }
    }
  }

  private func save(_ peer: KnownPeer) throws(SQLiteError) {
    var writer = ByteWriter()
    writer.frontier(peer.frontier)
    let frontier = writer.bytes
    try connection.run(
      """
      INSERT OR REPLACE INTO _flotilla_peer(node, name, address, seen, offset, frontier)
      VALUES (?, ?, ?, ?, ?, ?)
      """,
      [
        .string(peer.node.description), .string(peer.name), .string(peer.address),
        peer.seen.map { .integer($0) } ?? .null, .integer(peer.clockOffset), .blob(frontier),
      ])
  }
}

/// Who writes under an origin.
extension MemberTables {
  /// Which node wrote under an origin, if that is known.
  package func author(of origin: Origin) throws(StoreError) -> Identity? {
    try reporting { () throws(SQLiteError) in
      try connection.scalar(
        "SELECT node FROM _flotilla_author WHERE origin = ?",
        [.integer(Int64(bitPattern: origin.rawValue))]
      ).string.flatMap(Identity.init)
    }
  }

  /// The authors that are known with their lives, in no order.
  package func authors() throws(StoreError) -> [KnownAuthor] {
    try reporting { () throws(SQLiteError) in
      try connection.rows(
        "SELECT origin, node, name, life FROM _flotilla_author WHERE life IS NOT NULL"
      ).compactMap { row in
        guard let origin = row[0].integer, let node = row[1].string.flatMap(Identity.init),
          let life = row[3].integer
        else { return nil }
        return KnownAuthor(
          origin: Origin(rawValue: UInt64(bitPattern: origin)), node: node,
          name: row[2].string ?? "", life: UInt64(bitPattern: life))
      }
    }
  }

  /// Remembers who writes under an origin; the caller has derived it from the node's key and life.
  package func note(_ authors: [KnownAuthor]) throws(StoreError) {
    guard !authors.isEmpty else { return }
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        for author in authors { try Self.note(author, on: connection) }
      }
    }
  }

  static func note(_ author: KnownAuthor, on connection: Connection) throws(SQLiteError) {
    try connection.run(
      "INSERT OR REPLACE INTO _flotilla_author(origin, node, name, life) VALUES (?, ?, ?, ?)",
      [
        .integer(Int64(bitPattern: author.origin.rawValue)), .string(author.node.description),
        .string(author.name), .integer(Int64(bitPattern: author.life)),
      ])
  }

  /// Calls authors as the site does now: it may have given another name to a second of one name.
  package func rename(_ names: [Identity: String]) throws(StoreError) {
    guard !names.isEmpty else { return }
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        for (node, name) in names {
          try connection.run(
            "UPDATE _flotilla_author SET name = ?2 WHERE node = ?1 AND name IS NOT ?2",
            [.string(node.description), .string(name)])
        }
      }
    }
  }
}

/// The signed statements about the members, as they were signed.
extension MemberTables {
  /// The public key of the site's root, which every statement comes down to.
  package func rootKey() throws(StoreError) -> [UInt8] {
    try reporting { () throws(SQLiteError) in try meta.blob(.rootKey) ?? [] }
  }

  package func statements() throws(StoreError) -> [SignedStatement] {
    try reporting { () throws(SQLiteError) in
      try connection.rows("SELECT bytes FROM _flotilla_statement ORDER BY id").compactMap {
        // Who reads them checks the signatures; what is none any more counts for nothing.
        try? SignedStatement($0[0].blob ?? [])
      }
    }
  }

  /// Keeps statements, all in one commit.
  package func add(_ statements: [SignedStatement]) throws(StoreError) {
    guard !statements.isEmpty else { return }
    try reporting { () throws(SQLiteError) in
      try connection.transaction { () throws(SQLiteError) in
        try removeFarewells(before: statements)
        try Self.insert(statements, on: connection)
      }
    }
  }

  /// Of each node one farewell counts, and the newest here is that: a member that has left could
  /// fill the file with others.
  private func removeFarewells(before statements: [SignedStatement]) throws(SQLiteError) {
    let left = Set(statements.filter { $0.statement.kind == .leave }.map(\.statement.issuer))
    guard !left.isEmpty else { return }
    for row in try connection.rows("SELECT id, bytes FROM _flotilla_statement") {
      guard let known = try? SignedStatement(row[1].blob ?? []), known.statement.kind == .leave,
        left.contains(known.statement.issuer)
      else { continue }
      try connection.run("DELETE FROM _flotilla_statement WHERE id = ?", [row[0]])
    }
  }

  static func insert(
    _ statements: [SignedStatement], on connection: Connection
  ) throws(SQLiteError) {
    for statement in statements {
      try connection.run(
        "INSERT OR IGNORE INTO _flotilla_statement(bytes) VALUES (?)", [.blob(statement.bytes)])
    }
  }
}
