import Replication

/// A row of the world, by a number: the same on every node.
package typealias RowNumber = Int

/// What a replica shows at one moment, read from outside.
struct Observation {
  /// What an application reads.
  struct Content: Equatable {
    /// Over every column that this replica has.
    var whole: UInt64
    /// Over the columns that every replica has from the start.
    var common: UInt64

    init(whole: UInt64, common: UInt64) { (self.whole, self.common) = (whole, common) }

    /// Where all replicas have all columns.
    init(_ content: UInt64) { self.init(whole: content, common: content) }
  }

  /// An entry of the conflict log.
  struct Logged {
    var row: RowNumber
    var reason: String
    /// Nil for a row that nobody had made a version of.
    var loser: Dot?
    var winner: Dot?
    var isWhole: Bool
  }

  /// What the replica claims to hold.
  var frontier = Frontier()
  var versions: [RowNumber: Version] = [:]
  /// Versions that were held when their table was taken away: neither shown nor handed on.
  var lost: [RowNumber: Version] = [:]
  /// The rows of these whose table does not even stand under another name.
  var dropped: Set<RowNumber> = []
  /// The rows of the tracked tables; deleted ones are absent.
  var rows: [RowNumber: Content] = [:]
  /// Rows whose content is kept beside the table, as long as it cannot be placed.
  var shelved: Set<RowNumber> = []
  /// Those of whose version no application sees anything: it reads nothing, or what was there
  /// before.
  var hidden: Set<RowNumber> = []
  /// Where all claim each other's unique values: the rows that stand, and those that are parked.
  var standing: [RowNumber: Badge] = [:]
  var parked: [RowNumber: Badge] = [:]
  /// Rows that wait to be as the site has them.
  var waiting: Set<RowNumber> = []
  /// Rows that are parked, each with the one that stands and has its value. At leaves alone.
  var rivals: [RowNumber: RowNumber] = [:]
  /// How often an edit of a row was logged as not allowed.
  var refused: [RowNumber: Int] = [:]
  /// Own edits that lost to a delete that nobody remembers: they are in the log.
  var givenUp: [Dot: RowNumber] = [:]
  /// All is being fetched anew, and what does not come goes.
  var isRenewing = false
  /// That, or it knows that it must.
  var isBehind = false
  /// The conflict log; nil where nobody looks at it.
  var log: [Logged]?
  /// What there is because of the anchor; nil in a schedule without one.
  var office: OfficeView?

  /// The rows whose version is another one than before.
  func news(since before: Observation) -> [(row: RowNumber, version: Version)] {
    // Mostly nothing has changed, and one dictionary is then the other.
    if versions == before.versions { return [] }
    var news: [(row: RowNumber, version: Version)] = []
    for (row, version) in versions where before.versions[row] != version {
      news.append((row, version))
    }
    return news
  }

  /// The entries of the log that were not there before.
  func logged(since before: Observation) -> ArraySlice<Logged> {
    (log ?? []).dropFirst(before.log?.count ?? 0)
  }

  /// Whether an edit of the row that a node has made since is in the log.
  func hasLogged(_ row: RowNumber, of own: Origin, above seq: UInt64) -> Bool {
    log?.contains { entry in
      entry.row == row && entry.loser.map { $0.origin == own && $0.seq > seq } ?? false
    } ?? false
  }

  func hasDeleted(_ row: RowNumber, above version: Version) -> Bool {
    versions[row].map { $0.isDeleted && $0.rank > version.rank } ?? false
  }

  /// The version that the replica knows of a row, even if it has its content no more.
  func known(_ row: RowNumber) -> Version? {
    guard let pending = office?.pending[row] else { return versions[row] ?? lost[row] }
    return (pending + [versions[row] ?? lost[row]].compactMap { $0 }).max { $0.rank < $1.rank }
  }
}
