/// One message between two nodes; `docs/protocol.md` has every field.
///
/// What is large is in a box: messages are moved from hand to hand, and most are small.
package enum Message: Sendable, Equatable {
  indirect case hello(Hello)
  indirect case have(Have)
  indirect case begin(Begin)
  /// Asks for the rows of these names as they stand.
  case want([RowName])
  /// A batch of rows (see `RowBatch`), or the last piece of one; `number` counts the frames of
  /// exchanges that the sender has sent before.
  case rows(number: UInt64, [UInt8])
  /// A piece of a batch that is too long for one frame; more pieces follow, then `rows`.
  case part(number: UInt64, [UInt8])
  /// One of these two, compressed; only to who knows that.
  case packed(Packed)
  /// What owners have signed of the origins of the rows that follow, and of what is covered.
  case reaches(number: UInt64, [Reach])
  case end(End)
  /// Ends an exchange for now: what came is merged, the frontier stays, the rest follows.
  case pause(End)
  /// `sent` is the sender's uptime; the answer brings it back.
  case ping(sent: Int64, ClockView)
  case pong(echo: Int64, ClockView)
  case members([Member])
  /// What was signed about the members and the receiver may not know.
  case statements([SignedStatement])
  case buckets(Buckets)
  /// What everybody holds, and what was collected.
  indirect case stability(StabilityNews)
  /// Asks what the peer holds, to compare it row by row; `account` answers.
  case inspect(Inspect)
  indirect case account(Account)
  /// Asks a member for its schema; the answer is an `offer` and the objects that it counts.
  case describe
  /// Which program the sender runs.
  case program(String)
  /// Asks the peer to dial the sender where it listens; `knocked` tells what became of it.
  case knock
  case knocked(Knocked)
  indirect case offer(Offer)
  indirect case join(Join)
  indirect case admit(Admit)
  case schema(SchemaObject)
  case bye(Bye)
}

/// The first message of each side.
package struct Hello: Sendable, Equatable {
  package enum Purpose: UInt8, Sendable {
    case member = 0
    case join = 1
  }

  /// The newest protocol version that the sender speaks.
  package var version: UInt64
  package var purpose: Purpose
  package var site: Identity
  package var node: Identity
  package var name: String
  /// Random per start of the node: two lives of one node are told apart.
  package var run: UInt64
  /// The sender's clock, ms since 1970.
  package var clock: Int64
  /// The port that the sender listens on; 0 if it does not.
  package var port: UInt16
  /// Hash of the names and columns of all tracked tables.
  package var schema: UInt64
  /// Hash of the signed statements that the sender knows.
  package var statements: UInt64
  /// From which the sender's origin follows.
  package var life: UInt64
  /// What the sender knows of the site's time, beside `clock`.
  package var view: ClockView
  /// How far the sender has come with the cuts of the site.
  package var standing = CutStanding()
  /// The keys of its tables, where they were changed.
  package var keys: [TableKey] = []

  /// One run of the sender in one life of it: how far a catch-up from it has come counts for that.
  package var edition: UInt64 { run &+ life }

  package init(
    version: UInt64, purpose: Purpose, site: Identity, node: Identity, name: String, run: UInt64,
    clock: Int64, port: UInt16, schema: UInt64, statements: UInt64 = 0,
    life: UInt64 = 0, view: ClockView? = nil
  ) {
    self.version = version
    self.purpose = purpose
    self.site = site
    self.node = node
    self.name = name
    self.run = run
    self.clock = clock
    self.port = port
    self.schema = schema
    self.statements = statements
    self.life = life
    self.view = view ?? ClockView(wall: clock)
  }

  /// What the sender tells of the keys of all its tables, if another shape leads somewhere.
  var keysHere: UInt64? { keys.first { $0.table == 0 }?.key }
}

/// What the sender holds: its whole frontier the first time, later the entries that changed.
package struct Have: Sendable, Equatable {
  package var frontier: Frontier
  /// Hash of the sender's whole frontier, and its root digest at that frontier.
  package var frontierHash: UInt64
  package var rootDigest: UInt64
  /// How far an interrupted catch-up from the receiver of this message was worked through.
  package var resume: Frontier
  /// Asks for an exchange at once, even if it turns out empty.
  package var asks: Bool
  /// The furthest reach that the receiver of this message has signed in its present life, as far
  /// as the sender knows; in the first one, and in those that tell of edits of that life.
  package var testimony: Reach?

  package init(
    frontier: Frontier, frontierHash: UInt64, rootDigest: UInt64, resume: Frontier = Frontier(),
    asks: Bool = false, testimony: Reach? = nil
  ) {
    self.frontier = frontier
    self.frontierHash = frontierHash
    self.rootDigest = rootDigest
    self.resume = resume
    self.asks = asks
    self.testimony = testimony
  }
}

/// Opens an exchange.
package struct Begin: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// Everything above the receiver's frontier; `covers` is the sender's frontier.
    case full(covers: Frontier)
    /// The author's own fresh edits (origin, from, to].
    case push(origin: Origin, from: UInt64, to: UInt64)
    /// Every version of some digest buckets; moves no frontier.
    case repair

    /// What the receiver counts as held at the end.
    package var covers: Frontier {
      switch self {
      case .full(let covers): covers
      case .push(let origin, _, let to): Frontier([origin: to])
      case .repair: Frontier()
      }
    }

    /// What the check of the exchange begins with: End cannot close an exchange that claims
    /// something else, nor another one of the connection that claims the same.
    package func check(number: UInt64) -> UInt64 {
      let claim: UInt64 =
        switch self {
        case .full(let covers): covers.hash
        case .push(let origin, let from, let to): mix(mix(origin.rawValue) ^ mix(from)) &+ mix(to)
        case .repair: 0
        }
      return mix(number) &+ claim
    }
  }

  package var kind: Kind
  /// About how many rows will follow.
  package var rows: UInt64
  /// Counts the frames of exchanges that the sender has sent before.
  package var number: UInt64
  /// What an anchor has judged, with the certificates that are among what is held after this.
  package var judged: Judged?

  package init(_ kind: Kind, rows: UInt64, number: UInt64 = 0, judged: Judged? = nil) {
    self.kind = kind
    self.rows = rows
    self.number = number
    self.judged = judged
  }

  /// What the check of this exchange begins with, the `count`-th of its connection.
  package func check(_ count: UInt64) -> UInt64 {
    kind.check(number: count) &+ (judged?.check ?? 0)
  }
}

/// Closes an exchange: how many rows it had, and the sum of their checks and of its claim's.
package struct End: Sendable, Equatable {
  package var rows: UInt64
  package var check: UInt64

  package init(rows: UInt64, check: UInt64) {
    self.rows = rows
    self.check = check
  }
}

/// A member as another one knows it.
package struct Member: Sendable, Equatable {
  package var node: Identity
  package var name: String
  package var addresses: [String]
  /// From which the origins follow under which it has written.
  package var lives: [UInt64]

  package init(node: Identity, name: String, addresses: [String], lives: [UInt64] = []) {
    self.node = node
    self.name = name
    self.addresses = addresses
    self.lives = lives
  }
}

/// The sender's digest, for a receiver that holds the same frontier.
package struct Buckets: Sendable, Equatable {
  package var frontierHash: UInt64
  package var digest: Digest

  package init(frontierHash: UInt64, digest: Digest) {
    self.frontierHash = frontierHash
    self.digest = digest
  }
}
