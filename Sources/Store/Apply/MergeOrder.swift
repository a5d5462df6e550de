import Replication

/// The order in which the rows of a long merge are applied.
///
/// By table and key, so that a commit changes few pages. A row comes after those to which it
/// refers, else it would wait for them beside its table; and what is deleted goes first, those that
/// refer before what they refer to. It also makes room for who takes over a unique value.
struct MergeOrder {
  /// Where the rows of one table stand.
  struct Table {
    /// How many tables are above it; nil for the settings, which come before all.
    var depth: Int?
    var id: Int64
    var collations: [KeyCollation]
  }

  private struct Entry {
    var rank: Int
    var table: Int64
    var key: Key
    var place: MergeSlice.Place

    var isSettings: Bool { rank == .min }
  }

  private var entries: [Entry] = []
  /// The last row, as the sender has them.
  private(set) var last: Dot?
  /// The tables of the batch that is being read, by their places in it.
  private var tables: [Int: Table] = [:]
  private var batch = -1
  private var row = 0

  var count: Int { entries.count }

  /// Notes the next row; `table` looks its table up.
  mutating func add(_ row: RowHead, of batch: Int, _ table: () -> Table) {
    if batch != self.batch { (self.batch, self.row, tables) = (batch, 0, [:]) }
    var named = 0
    if row.version.hasNumbering {
      let numbering = row.version.numbering
      former += numbering.former.count
      named = numbering.former.count + numbering.elders.count + numbering.parents.count
    }
    let place = MergeSlice.Place(
      batch: UInt32(batch), row: UInt32(self.row), weight: UInt8(clamping: 1 + named))
    self.row += 1
    last = row.version.dot
    let known = tables[row.table] ?? table()
    tables[row.table] = known
    // Its sender may have a key of more columns.
    let key = Key(row.key.prefix(known.collations.count), collations: known.collations)
    if known.depth == nil { settings += 1 }
    entries.append(
      Entry(
        rank: Self.rank(known.depth, isDeleted: row.version.isDeleted), table: known.id,
        key: key ?? Key(bytes: []), place: place))
  }

  private static func rank(_ depth: Int?, isDeleted: Bool) -> Int {
    guard let depth else { return .min }
    return isDeleted ? -1 - depth : depth
  }

  /// How many keys the rows had before.
  private(set) var former = 0
  /// How many rows are settings.
  private(set) var settings = 0

  /// As the sender has them, but the settings first.
  var asSent: [MergeSlice.Place] {
    guard settings > 0 else { return entries.map(\.place) }
    return (entries.filter(\.isSettings) + entries.filter { !$0.isSettings }).map(\.place)
  }

  func sorted() -> [MergeSlice.Place] {
    var places = KeyOrder(capacity: entries.count)
    for entry in entries { places.add(rank: entry.rank, table: entry.table, entry.key) }
    return places.sorted { entries[$0].key }.map { entries[Int($0)].place }
  }
}
