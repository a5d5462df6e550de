import Replication
import SQLite
import Store

/// A busy site for a year, with real stores: what the files have grown to, against a newcomer's.
///
/// 20 nodes, 10,000 rows, two files a month put back to where they were weeks ago. Every day each
/// node edits rows, then all exchange. One edit in twenty is of a row that another node may edit
/// the same day; the others are of rows that are this node's today. Nothing is deleted: what
/// deleted rows take is known, and the newcomer has it as well.
enum Year {
  static let measurement = Measurement(
    name: "year", summary: "a year of 20 nodes with restored files: size against a fresh join",
    body: measure)

  private static let nodes = 20
  private static let rows = 10_000

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let days = extent.isQuick ? 30 : 365
    // A day of 5 million edits a year has 13,700.
    let edits = extent == .long ? 685 : 27
    let place = try Workplace(inMemory: true)
    var site = try Site(place)
    for day in 1...days { try site.live(through: day, edits: edits) }
    let newcomer = try BenchStore(
      UInt64(nodes), in: place, schema: Site.schema, at: .life(Int64(days) * Site.day))
    try newcomer.pull(from: site.stores[0], at: .life(Int64(days) * Site.day + Site.day / 2))
    let fresh = Double(try newcomer.fileSize())
    let sizes = try site.stores.map { try $0.store.survey.size() }
    let files = try site.stores.map { Double(try $0.fileSize()) }
    let logs = sizes.map { Double($0.part("conflict").bytes) }
    report.figures = [
      Figure("edits in \(days) days", "", Double(site.edits)),
      Figure("files put back", "", Double(site.restores)),
      Figure("file of a newcomer", "MB", fresh / 1e6),
      Figure("files of the nodes", "MB", files.map { $0 / 1e6 }),
      Figure("files against a newcomer's", "×", files.map { $0 / fresh })
        .target(.maximum, atMost: 1.5),
      Figure(
        "the same without the conflict log", "×", zip(files, logs).map { ($0 - $1) / fresh }),
      Figure("conflicts kept at a node", "", sizes.map { Double($0.part("conflict").rows) }),
      Figure("origins in the frontier", "", sizes.map { Double($0.origins) }),
      Figure("Flotilla's own tables, each row", "B", sizes.map { Double($0.ownBytes / rows) }),
    ]
    let share = 100 * Double(site.edits) / (5_000_000 * Double(days) / 365)
    report.notes = ["edits at \(Report.number(share)) % of the rate of 5 million a year"]
  }

  /// The nodes, and what has happened to them.
  private struct Site {
    static let day: Int64 = 86_400_000
    static let schema = Items.schema + "; CREATE TABLE number(n INTEGER PRIMARY KEY, id BLOB)"
    var stores: [BenchStore] = []
    var edits = 0
    var restores = 0
    /// Origins of lives that are over.
    private var ended: Set<Origin> = []

    init(_ place: Workplace) throws {
      for number in 0..<Year.nodes {
        stores.append(
          try BenchStore(
            UInt64(number), in: place, schema: Self.schema,
            tracking: number == 0 ? ["item", "number"] : [], at: .life(0)))
      }
      try Growth.fill(stores[0].application, Year.rows)
      try stores[0].application.execute("INSERT INTO number(id) SELECT id FROM item")
      try exchange(at: .life(1_000))
    }

    mutating func live(through day: Int, edits count: Int) throws {
      let start = Int64(day) * Self.day
      for (number, store) in stores.enumerated() {
        try edit(store, number, day, count, at: .life(start))
      }
      try exchange(at: .life(start + Self.day / 4))
      if day % 15 == 0 {
        let store = stores[restores % Year.nodes]
        ended.insert(store.store.own)
        try store.restore(life: UInt64(day), at: .life(start + Self.day / 2))
        restores += 1
        for store in stores { store.store.departed = ended }
        try exchange(at: .life(start + Self.day / 2))
      }
      if day % 15 == 1 { try stores[restores % Year.nodes].backUp() }
      for store in stores { try store.store.conflictLog.trim(at: .life(start + Self.day / 2)) }
    }

    private mutating func edit(
      _ store: BenchStore, _ number: Int, _ day: Int, _ count: Int, at now: Instant
    ) throws {
      let share = Year.rows / Year.nodes
      let ours = (number + day) % Year.nodes * share
      try store.application.transaction { () throws(SQLiteError) in
        for _ in 0..<count {
          let isAnyones = Int.random(in: 0..<20) == 0
          let row =
            isAnyones ? Int.random(in: 0..<Year.rows) : ours + Int.random(in: 0..<share)
          try store.application.run(
            """
            UPDATE item SET quantity = quantity + 1, price = ?2
            WHERE id = (SELECT id FROM number WHERE n = ?1)
            """, [.integer(Int64(row + 1)), .real(.random(in: 0...1_000))])
        }
      }
      edits += count
      try store.fold(at: now)
    }

    /// All to the first, and the first to all.
    private func exchange(at now: Instant) throws {
      for store in stores.dropFirst() { try stores[0].pull(from: store, at: now) }
      for store in stores.dropFirst() { try store.pull(from: stores[0], at: now) }
    }
  }
}
