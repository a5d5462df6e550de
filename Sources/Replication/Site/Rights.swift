/// What one node may do with the tables of the site.
package struct Rights: Sendable, Equatable {
  /// What holds for tables that nothing else is said of.
  package var general: Right
  /// By table, names folded as SQLite compares them.
  package var tables: [String: Right]

  package init(general: Right = .write, tables: [String: Right] = [:]) {
    self.general = general
    self.tables = tables
  }

  package static let all = Rights()

  package func right(to table: String) -> Right { tables[table.foldedForNames] ?? general }

  /// Whether it may write a table; the settings of the site are for those who may write them all.
  package func mayWrite(_ table: String) -> Bool {
    isWhole || right(to: table) == .write && !table.foldedForNames.hasPrefix("_flotilla_")
  }

  /// Whether it may read and write everything: then what it passes on of others may be believed,
  /// and its frontier tells what it holds. Any other node is a leaf: it sends only its own edits.
  package var isWhole: Bool { general == .write && tables.values.allSatisfy { $0 == .write } }

  /// Whether there is a table, known or not, that may be read and could not be before.
  package func opens(beyond before: Rights) -> Bool {
    before.general == .none && general != .none
      || before.tables.keys.contains { before.right(to: $0) == .none && right(to: $0) != .none }
  }

  /// Whether every table may be sent to it.
  package var readsAll: Bool { general >= .read && tables.values.allSatisfy { $0 >= .read } }

  /// Whether there is a table that it may write.
  package var writes: Bool { general == .write || tables.values.contains(.write) }
}

extension Rights {
  /// As a replica keeps it.
  package var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.byte(general.rawValue)
    writer.uint(tables.count)
    for (table, right) in tables.sorted(by: { $0.key < $1.key }) {
      writer.text(table)
      writer.byte(right.rawValue)
    }
    return writer.bytes
  }

  /// Reads what `bytes` has written; from anything else no right at all.
  package init(bytes: [UInt8]) {
    self.init(general: .none)
    var reader = ByteReader(bytes)
    guard let raw = try? reader.byte("rights"), let general = Right(rawValue: raw),
      let count = try? reader.count("rights", limit: Limits.tablesPerBatch)
    else { return }
    var tables: [String: Right] = [:]
    for _ in 0..<count {
      guard let table = try? reader.text("rights"), let raw = try? reader.byte("rights"),
        let right = Right(rawValue: raw)
      else { return }
      tables[table] = right
    }
    self.init(general: general, tables: tables)
  }
}

/// What may be taken from a leaf: edits of its own, in tables that it may write.
package struct LeafLicence: Sendable, Equatable {
  package var origin: Origin
  package var rights: Rights

  package init(origin: Origin, rights: Rights) {
    self.origin = origin
    self.rights = rights
  }

  /// Whether a row may come from it; what stands for good is not for leaves to say.
  package func allows(_ version: Version, isRuling: Bool, in table: String) -> Bool {
    version.dot.origin == origin && version.isTentative && !isRuling
      && allows(table: table)
  }

  /// Whether it may write a table; which tables the site has is not for leaves to say.
  package func allows(table: String) -> Bool {
    !table.foldedForNames.hasPrefix("_flotilla_") && rights.right(to: table) == .write
  }

  /// Whether an exchange may claim this.
  package func allows(_ kind: Begin.Kind) -> Bool {
    switch kind {
    case .full(let covers):
      covers.isEmpty || rights.writes && covers.list.allSatisfy { $0.origin == origin }
    case .push(let pushed, _, _): rights.writes && pushed == origin
    case .repair: false
    }
  }
}

/// What an export to a peer leaves out.
package struct ExportFilter: Sendable, Equatable {
  /// What the peer may read.
  package var reader: Rights
  /// What this node may send: everything, or as a leaf only its own edits where it may write.
  package var sender: Rights

  package init(reader: Rights = .all, sender: Rights = .all) {
    self.reader = reader
    self.sender = sender
  }

  package static let none = ExportFilter()

  /// Whether rows of a table may go to the peer.
  package func passes(_ table: String) -> Bool {
    // The settings say which tables there are; everybody needs them, and leaves do not write them.
    if table.foldedForNames.hasPrefix("_flotilla_") { return sender.isWhole }
    return reader.right(to: table) >= .read
      && (sender.isWhole || sender.right(to: table) == .write)
  }

  /// Whether rows of a table that the peer may read are left out all the same.
  package func withholds(_ table: String) -> Bool {
    let isSettings = table.foldedForNames.hasPrefix("_flotilla_")
    return !sender.mayWrite(table) && (isSettings || reader.right(to: table) >= .read)
  }

  /// Whether nothing is left out.
  package var isOpen: Bool { reader.readsAll && sender.isWhole }
}

extension Origin {
  /// The origin of one life of a node: nobody else can have it, for that would need another key
  /// with the same hash.
  package static func of(_ node: Identity, life: UInt64, _ notary: Notary) -> Origin {
    var writer = ByteWriter()
    writer.raw(Array("FLOTILLA origin 1\n".utf8))
    writer.identity(node)
    writer.word(life)
    return Origin(rawValue: max(1, notary.digest(writer.bytes).high))
  }
}

/// A row by its table and its canonical key.
package struct RowName: Sendable, Hashable {
  package var table: String
  package var key: [UInt8]

  /// How long both are.
  var size: Int { table.utf8.count + key.count }

  package init(table: String, key: [UInt8]) {
    self.table = table
    self.key = key
  }
}
