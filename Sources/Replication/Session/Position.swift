/// What this replica holds at one moment, for the sessions to compare with.
package struct Position: Sendable, Equatable {
  package var frontier: Frontier
  package var digest: Digest
  /// The digest of what tables have here, if another shape of a key leads.
  package var digestHere: Digest?
  /// The origin under which this replica writes at present.
  package var own: Origin
  /// Counts up with each change, so that news that arrive out of order are told apart.
  package var age: UInt64
  /// Versions below the frontier whose content is here no more, so that it cannot be handed on.
  package var lost: Int
  /// Another number whenever more rows wait to be put back as the site has them; 0 if none does.
  package var wanted: UInt64
  /// Whether edits that count in the frontier wait for this anchor's verdict: they stand in the
  /// tables of others, and not in its own.
  package var isJudging = false
  /// How often rows have changed without a frontier that shows it.
  package var repairs: UInt64 = 0
  /// What is known of what everybody holds.
  package var stability = Stability()
  /// The keys of the tables whose key was changed, and whose rows were all looked at since.
  package var keys: [TableKey] = []
  /// Another number whenever peers are to hear of keys by a new `Hello`.
  package var keyMark: UInt64 = 0
  /// What owners have signed of their origins, this one among them.
  package var reaches = ReachBook()

  package init(
    frontier: Frontier, digest: Digest, own: Origin, age: UInt64 = 0, lost: Int = 0,
    wanted: UInt64 = 0
  ) {
    self.frontier = frontier
    self.digest = digest
    self.own = own
    self.age = age
    self.lost = lost
    self.wanted = wanted
  }

  package func digest(_ scope: DigestScope) -> Digest {
    scope == .here ? digestHere ?? digest : digest
  }
}

/// Fresh edits of this node, (origin, from, to], while it takes in more: all of them, in batches of
/// a frame each.
package struct Stretch: Sendable, Equatable {
  package struct Batch: Sendable, Equatable {
    package var bytes: [UInt8]
    package var rows: UInt64
    package var check: UInt64

    package init(bytes: [UInt8], rows: UInt64, check: UInt64) {
      (self.bytes, self.rows, self.check) = (bytes, rows, check)
    }
  }

  package var origin: Origin
  package var from: UInt64
  package var to: UInt64
  package var batches: [Batch]
  /// About how many rows are still to be taken in.
  package var waiting: UInt64

  package init(
    origin: Origin, from: UInt64, to: UInt64, batches: [Batch], waiting: UInt64
  ) {
    (self.origin, self.from, self.to) = (origin, from, to)
    (self.batches, self.waiting) = (batches, waiting)
  }
}

/// This node's own fresh edits (origin, from, to], encoded inside the fold that made them.
package struct Push: Sendable, Equatable {
  package var origin: Origin
  package var from: UInt64
  package var to: UInt64
  package var batch: [UInt8]
  package var rows: UInt64
  package var check: UInt64
  /// What an anchor has judged with it.
  package var judged: Judged?
  /// This node's signature for them.
  package var reach: Reach?

  package init(
    origin: Origin, from: UInt64, to: UInt64, batch: [UInt8], rows: UInt64, check: UInt64,
    judged: Judged? = nil
  ) {
    self.origin = origin
    self.from = from
    self.to = to
    self.batch = batch
    self.rows = rows
    self.check = check
    self.judged = judged
  }
}
