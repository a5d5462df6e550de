extension Session {
  /// What can happen to a session; what is large is in a box, as in a message.
  package enum Input: Sendable {
    /// The stream is up.
    case connected
    /// Some bytes arrived, perhaps not yet a whole message.
    case heard
    /// The shell does not read any more until what has arrived is worked through; ends at `heard`.
    case stoppedReading
    /// What the peer has cost for nothing in connections before, and what it was sent.
    indirect case owes(Toll, Supply)
    /// `isFollowed`: the next frame of the peer is here as well, and comes at once. Rows of a long
    /// exchange gather until that is not so.
    case received(Message, isFollowed: Bool = false)
    /// This replica now holds more, by its own edits or by those of other peers.
    indirect case advanced(Position)
    /// This replica has folded fresh edits of its own; comes before the matching `advanced`.
    indirect case folded(Push)
    /// The same while it folds more; comes after the matching `advanced`.
    indirect case foldedStretch(Stretch)
    /// The peer should know where other members are.
    case introduce([Member])
    /// The peer should know what was signed about members.
    case tell([SignedStatement])
    /// The node lets this session ask for what it lacks; `resume` is the remembered progress.
    case mayPull(resume: Frontier)
    /// Rows that should be as the site has them, and are not here.
    case want([RowName])
    /// A person wants an exchange now.
    case ask
    /// The peer is asked for its sums, or for its rows of these buckets.
    case inspect([Int])
    /// What was asked for is not wanted any more.
    case stopInspecting
    /// The peer is asked for its schema.
    case describe
    /// The peer is asked to dial this node where it listens.
    case knock
    /// What became of dialling the peer because it had asked.
    case dialledBack(Knocked)
    /// What was read of the answer to the peer.
    indirect case accounted(Account.Content)
    /// A person wants these buckets repaired now.
    case repair([Int])
    /// What seemed to contradict this replica is in its file.
    indirect case confirmed(Have, Position)
    /// What this node has to say of the site's time has changed.
    case clock(ClockStanding)
    /// The peer's clock is wanted now.
    case compareClocks
    /// The snapshot for the export is open.
    case exportOpened(covers: Frontier, rows: UInt64, judged: Judged? = nil)
    /// The next batch of the export, or the end of one that went in pieces; shorter than a frame.
    case exported(batch: [UInt8], rows: UInt64, check: UInt64)
    /// A piece of a batch that is longer than a frame; `exported` brings the end of it.
    case exportedPart([UInt8])
    case exportDone
    /// The snapshot was held for too long: a new exchange goes on from `progress`.
    case exportPaused(progress: Frontier)
    case exportFailed(String)
    /// So many rows of the merge under way are in the file.
    case merging(rows: UInt64)
    case merged(MergeResult)
    case mergeFailed(Bye)
    /// What the inviter tells a joiner that knows the code of an open invitation, and any node a
    /// member that has asked for its schema.
    indirect case offer(Offer, [SchemaObject])
    /// The inviter's answer to a `join`.
    indirect case admitted(Admit)
    /// The peer is slower than we: a lot waits to be written.
    case crowded
    /// The stream has room again.
    case drained
    case tick
    /// The stream ended without a word.
    case disconnected(String)
    case close(Bye)
  }

  /// What the shell must do.
  package enum Directive: Sendable, Equatable {
    case send(Message)
    /// The peer is who it should be; the session counts from now on. To a joiner the node answers
    /// with `offer` or `close`.
    indirect case opened(Hello)
    /// The peer holds edits of this replica that the session does not know of. The node answers
    /// with `confirmed`, or begins a new life and closes the session.
    indirect case contradicted(Have)
    /// This node has signed for edits that the session does not know of. The node begins a new life
    /// if they are not in the file.
    indirect case doubted(Reach)
    /// The peer tells what everybody holds.
    indirect case stability(StabilityNews)
    /// Rows were deleted and forgotten while this replica was away, and this peer knows which. The
    /// node begins a renewal.
    case fellBehind(CutStanding)
    /// The peer holds at least this.
    case peerHolds(Frontier)
    case openExport(ExportScope)
    /// Less is to be exported than was said, if the snapshot is not open yet.
    case narrowExport(ExportScope)
    case readExport
    case closeExport
    indirect case merge(Merge)
    /// An exchange to the peer (`sent`) or from it was completed.
    case exchanged(sent: Bool, rows: UInt64)
    /// A catch-up from the peer goes on.
    indirect case catchingUp(Passage)
    /// A long exchange to the peer goes on.
    indirect case sending(Passage)
    /// What the peer has told of its rows; what was asked for ends with its last part.
    indirect case inspected(Account.Content)
    /// The peer asks for our sums, or for rows of these buckets; the answer is `accounted`.
    case openAccount([Int])
    case readAccount
    case closeAccount
    /// The peer asks for the schema here; the node answers with `offer` or `close`.
    case describe
    /// The schema of the peer, which was asked for.
    case described([SchemaObject])
    /// The program that the peer runs.
    case program(String)
    /// The peer asks to be dialled where it listens; the node answers with `dialledBack`.
    case dialBack
    /// What became of it when the peer dialled this node.
    case knocked(Knocked)
    case members([Member])
    /// The peer tells what was signed about members.
    case statements([SignedStatement])
    /// What the peer tells of its clocks, some time after it looked.
    case heardClock(ClockView)
    /// The same in the answer to a question, exact to half of the round trip in ms; it came at that
    /// uptime.
    case measuredClock(ClockView, roundTrip: Int64, at: Int64)
    /// A joiner agrees to the offer; the node answers with `admitted` or `close`.
    indirect case judge(Join)
    /// The session is over; `byPeer` tells who said so.
    case closed(Bye, byPeer: Bool)
  }

  /// Which versions an export takes.
  package enum ExportScope: Sendable, Equatable {
    case above(Frontier)
    /// What the peer was not sent yet, though it holds no more than `holds`: it was handed on
    /// before by a replica that could not give everything.
    case unsent(above: Frontier, holds: Frontier)
    case buckets([Int])
    /// These rows, as they stand.
    case rows([RowName])
    /// The rest of a bucket, of which what lies below was sent before a pause.
    case bucket(Int, above: Frontier)

    /// What is left out because it was sent or is held; nil for repairs.
    package var start: Frontier? {
      switch self {
      case .above(let sent), .unsent(let sent, _): sent
      case .buckets, .rows, .bucket: nil
      }
    }
  }
}

/// Rows to be merged in one step of an exchange.
package struct Merge: Sendable, Equatable {
  /// Which node sent them, in which run of which life.
  package var sender: Identity
  package var edition: UInt64 = 0
  package var kind: Begin.Kind
  package var batches: [[UInt8]]
  /// Rows and check of the steps before this one.
  package var rowsBefore: UInt64
  package var checkBefore: UInt64
  /// Set in the last step.
  package var end: End?
  /// Whether the frontier moves, in the same commit; never at a pause.
  package var movesFrontier: Bool
  /// What the sender may send, if that is not everything.
  package var licence: LeafLicence?
  /// What an anchor has judged; it counts when the frontier moves.
  package var judged: Judged?
  /// What the receiver was allowed when the session began: the sender has left out the rest, so the
  /// exchange covers nothing for who may do something else by now.
  package var reader: Rights?
  /// What a whole member that repairs is known to hold: if it covers a version and shows an earlier
  /// one of that row, the version was taken back.
  package var held = Frontier()
  /// How far the sender has come with the cuts of the site.
  package var standing = CutStanding()
  /// To which mark the receiver has asked for everything, if it has.
  package var asked: Mark?
  /// What came with it that owners have signed, and which edits count by that; nil where nobody
  /// signs.
  package var reaches: [Reach] = []
  package var sealed: Sealed?
  /// What counted as held when the exchange began.
  package var base = Frontier()
  /// Of these origins rows were left out in this session.
  package internal(set) var leftOut: [Origin: Omission] = [:]

  package init(
    sender: Identity, kind: Begin.Kind, batches: [[UInt8]], rowsBefore: UInt64,
    checkBefore: UInt64, end: End?, movesFrontier: Bool
  ) {
    self.sender = sender
    self.kind = kind
    self.batches = batches
    self.rowsBefore = rowsBefore
    self.checkBefore = checkBefore
    self.end = end
    self.movesFrontier = movesFrontier
  }
}

/// What a merge has done.
package struct MergeResult: Sendable, Equatable {
  package var rows: UInt64
  package var check: UInt64
  /// So many of the rows changed nothing here: they were known, or older, or were left out.
  package var known: UInt64
  /// What was left out for nobody has signed for it.
  package var leftOut: [Origin: Omission]

  package init(
    rows: UInt64, check: UInt64, known: UInt64 = 0, leftOut: [Origin: Omission] = [:]
  ) {
    (self.rows, self.check, self.known, self.leftOut) = (rows, check, known, leftOut)
  }

  package mutating func add(_ next: MergeResult) {
    rows += next.rows
    known += next.known
    check &+= next.check
    leftOut.join(next.leftOut)
  }
}
