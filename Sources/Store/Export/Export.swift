import Replication
import SQLite

/// One export under way: a read snapshot on a connection of its own, read batch by batch.
final class Export {
  /// What one row of the export is read from.
  struct Item {
    enum Place: Int64 {
      case table = 0
      /// It was outranked and waits for the anchor.
      case pending = 1
      /// It is no row but a ruling.
      case ruling = 2
    }

    var table: Int64
    var key: Key
    var version: Version
    var place = Place.table
  }

  /// A row by the local number of its table.
  struct RowID: Hashable {
    var table: Int64
    var key: Key
  }

  enum Source {
    /// A few rows, known beforehand.
    case list([Item], next: Int)
    /// A scan of the version table.
    case scan(Statement)
  }

  let connection: Connection
  let shelf: Shelf
  /// What the peer may count as held at the end.
  let covers: Frontier
  /// What is held here: all that can be given of it is sent.
  let frontier: Frontier
  let rows: UInt64
  private let openedAt: Int64
  /// The length of the WAL file then: it never shrinks while it is in use, so only what it has
  /// grown since may be this snapshot's doing.
  private let walBytes: Int
  /// The tables as they were then: those of a later schema may not fit the snapshot.
  let tables: [Int64: ReplicaTable]
  var source: Source
  /// Where it begins, if it is no repair: what has come further counts at a pause.
  var start: Frontier?
  var last: Dot?
  /// A row that goes in pieces, begun and not yet ended.
  var long: LongRow?
  /// A row that was read but did not fit into the last batch.
  var waiting: Item?
  /// Tables in which a row was missing though its version is live.
  var suspects: Set<Int64> = []
  /// Only rows of these digest buckets, if set.
  let buckets: Set<Int>?
  /// What the peer may not read, or this node may not send, is left out; as a leaf it sends only
  /// what it wrote under `own`.
  var filter = ExportFilter.none
  /// Rows that wait to be put back: what stands there is not what their versions say.
  var wrong: Set<RowID> = []
  var own = Origin(rawValue: 0)
  /// What the next read gives, if the snapshot was let go before the end.
  private(set) var cut: Result<ExportStep, StoreError>?

  init(
    connection: Connection, covers: Frontier, frontier: Frontier, rows: UInt64, openedAt: Int64,
    tables: [Int64: ReplicaTable], source: Source, buckets: Set<Int>?
  ) {
    self.walBytes = FileSize.of(connection.path + "-wal")
    self.tables = tables
    self.connection = connection
    self.shelf = Shelf(connection: connection)
    self.covers = covers
    self.frontier = frontier
    self.rows = rows
    self.openedAt = openedAt
    self.source = source
    self.buckets = buckets
  }

  /// Lets the snapshot go; gives the connection if nothing on it holds one any more.
  func end() -> Connection? {
    (source, long) = (.list([], next: 0), nil)
    connection.rollBack()
    return connection.isIdle ? connection : nil
  }

  /// Lets the snapshot go, if it is time, whether or not the peer takes anything: it has told what
  /// it needs to go on, or to end.
  ///
  /// Before anything of it counts that is of no use, for the next would begin with the same rows.
  /// So it is with a row that has begun to go in pieces.
  func cutIfSpent(at now: Instant, _ pace: Pace) {
    guard cut == nil, last != nil || long != nil else { return }
    let counts = long == nil && goesOn
    guard counts ? isSpent(at: now, pace) : hasPinnedMost(pace) else { return }
    cut =
      if long != nil {
        .failure(
          StoreError(
            .sqlite, "the log grew by more than a snapshot may keep while a long row was sent"))
      } else {
        .success(isExhausted ? .done : .paused(progress: progress))
      }
    _ = end()
  }

  /// Whether it was held for so long, or keeps so much of the log, that it is let go.
  func isSpent(at now: Instant, _ pace: Pace) -> Bool {
    now.uptime - openedAt > pace.snapshotTime || pinned >= pace.walBytes
  }

  /// The same where what was done in it is of no use without the rest.
  func hasPinnedMost(_ pace: Pace) -> Bool { pinned >= pace.mostWalBytes }

  /// By how much the log has grown since it was opened.
  private var pinned: Int { FileSize.of(connection.path + "-wal") - walBytes }

  /// Whether a row of this table goes out.
  func passes(_ item: Item, of table: String) -> Bool {
    if !wrong.isEmpty, wrong.contains(RowID(table: item.table, key: item.key)) { return false }
    return filter.isOpen
      || filter.passes(table) && (filter.sender.isWhole || item.version.dot.origin == own)
  }

  /// True once the last row was read.
  var isExhausted: Bool {
    if case .list(let items, let next) = source {
      next >= items.count && waiting == nil
    } else {
      false
    }
  }

  /// Everything below this was read, in the order of (origin, seq).
  var progress: Frontier {
    last.map(frontier.reached) ?? Frontier()
  }

  /// Whether the next export would not begin where this one did: rows beyond what is held here,
  /// as a replica has them that is itself catching up, count for nothing.
  var goesOn: Bool { start.map { !$0.covers(progress) } ?? true }
}

/// One batch of an export, encoded.
package struct ExportBatch: Sendable {
  package var bytes: [UInt8]
  package var rows: UInt64
  package var check: UInt64
}

/// What reading from an export gives.
package enum ExportStep: Sendable {
  case batch(ExportBatch)
  /// A piece of a batch that is longer than a frame: more pieces follow, then its end as a batch.
  case part([UInt8])
  /// The snapshot was held for too long; the next export goes on from here.
  case paused(progress: Frontier)
  case done
}
