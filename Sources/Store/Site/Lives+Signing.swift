import Replication
import SQLite

/// What is signed of origins: by this node of its own, and by others of theirs.
extension Lives {
  /// Signs from now on what is written here.
  package func sign(by signer: @escaping (any Signable) -> [UInt8]) { self.signer = signer }

  /// This node's word on what it has written; nil if it has not, or signs nothing.
  func reach(through seq: UInt64) -> Reach? {
    guard let signer, seq > 0 else { return nil }
    let run = log.entries.last?.run ?? 0
    if let last = lastReach, last.origin == own, last.seq == seq, last.run == run { return last }
    // Read once in a life; a file that cannot be read now is signed for later.
    guard let life = lastReach?.origin == own ? lastReach?.life : try? self.life() else {
      return nil
    }
    var reach = Reach(origin: own, node: node, life: life, seq: seq, run: run)
    reach.signature = signer(reach)
    lastReach = reach
    return reach
  }

  /// What is known of origins, the own one among them.
  var known: ReachBook {
    // Numbers of a transaction that was rolled back are not signed for.
    reaches.book.with(own: own, isStale ? nil : reach(through: origins.frontier[own]))
  }

  /// Keeps what came with rows, in the open transaction; gives whether it takes something back.
  ///
  /// A version before counted what it was told of an origin as held. What its owner never signed
  /// for is not held: all of that origin comes again.
  func keep(_ news: [Reach]) throws(SQLiteError) -> Bool {
    var takesBack = false
    for reach in news where reach.origin != own {
      let isNew = reaches.book[reach.origin] == nil
      if isNew, origins.frontier[reach.origin] > reach.seq {
        try origins.lower(reach.origin, to: 0)
        try ProgressTable(connection).clear()
        takesBack = true
      }
      try reaches.keep(reach)
      // Of too many lives of one node none is kept.
      if isNew, reaches.book[reach.origin] != nil { try noteAuthor(of: reach) }
    }
    return takesBack
  }

  /// Whoever has signed for an origin writes under it. Its life is noted once it shows that itself.
  private func noteAuthor(of reach: Reach) throws(SQLiteError) {
    try connection.run(
      """
      INSERT OR IGNORE INTO _flotilla_author(origin, node, name, life)
      VALUES (?1, ?2, (SELECT name FROM _flotilla_author WHERE node = ?2), NULL)
      """,
      [.integer(Int64(bitPattern: reach.origin.rawValue)), .string(reach.node.description)])
  }

  /// Notes, once in a life, that what is written under the present origin is signed for.
  func signLife() throws(SQLiteError) {
    guard reaches.book[own] == nil, let reach = reach(through: origins.frontier[own]) else {
      return
    }
    try reaches.keep(reach)
  }

  /// Signs for what is in the file of a life that ends, in the run that has written it last.
  ///
  /// Not for one from before anybody signed: the file may be an older one, and others would take
  /// for nothing what they hold beyond it.
  func signLife(_ life: UInt64, before old: Origin) throws(SQLiteError) {
    let seq = origins.frontier[old]
    guard let signer, seq > 0 else { return }
    if reaches.book[old] == nil, try isFromBefore() { return }
    let run = log.entries.last { $0.origin == old }?.run ?? 0
    var reach = Reach(origin: old, node: node, life: life, seq: seq, run: run)
    reach.signature = signer(reach)
    try reaches.keep(reach)
  }

  /// Whether a version before has made the file, in which nobody signed: its table is still there.
  private func isFromBefore() throws(SQLiteError) -> Bool {
    try Layout.hasTable("_flotilla_testimony", on: connection)
  }
}
