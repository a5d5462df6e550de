import Replication
import SQLite

/// What anchors have ruled: records that travel like rows and name an edit.
final class RulingTable: FilePart {
  /// A ruling with the dot under which it travels.
  struct Item {
    var table: Int64
    var key: Key
    /// Dot, moment and term of the ruling.
    var version: Version
    var ruling: Ruling
  }

  /// How a ruling is found in its table.
  struct Name: Sendable { var eorigin, eseq, origin, seq: Int64 }

  let versions: VersionTable
  /// So many are kept; the oldest go first.
  let limit: Int

  /// How many there are, as was counted in the open transaction: to count 100,000 takes some ms,
  /// and a merge may ask for each of its rows.
  private var tally: Int64?

  private var connection: Connection { versions.connection }

  init(versions: VersionTable, limit: Int) { (self.versions, self.limit) = (versions, limit) }

  /// What was counted before may be otherwise by now.
  func begin() { tally = nil }

  func put(_ item: Item) throws(SQLiteError) {
    let extra = try VersionExtra(origins: versions.origins, terms: versions.terms)
      .encode(item.version)
    let added = try connection.run(
      """
      INSERT OR IGNORE INTO _flotilla_ruling(
        eorigin, eseq, origin, seq, stamp, extra, kind, rule, tbl, key)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .integer(try versions.origins.number(of: item.ruling.edit.origin)),
        .integer(Int64(item.ruling.edit.seq)),
        .integer(try versions.origins.number(of: item.version.dot.origin)),
        .integer(Int64(item.version.dot.seq)), .integer(item.version.stamp.rawValue),
        extra.map { .blob($0) } ?? .null, .integer(Int64(item.ruling.kind.rawValue)),
        .string(item.ruling.rule), .integer(item.table), .blob(item.key.bytes),
      ])
    if added > 0, item.ruling.kind.rawValue < 128 { tally? += 1 }
  }

  /// The latest ruling about an edit.
  func about(_ edit: Dot) throws(SQLiteError) -> Item? {
    guard let number = versions.origins.knownNumber(of: edit.origin) else { return nil }
    return try latest(
      "WHERE r.eorigin = ? AND r.eseq = ?", [.integer(number), .integer(Int64(edit.seq))])
  }

  /// The plus signs keep SQLite from going through all rulings between two numbers.
  static let ofRow =
    "WHERE +r.eorigin = ? AND +r.eseq BETWEEN ? AND ? AND r.tbl = ? AND r.key = ?"

  /// The same about an edit of a row under whichever of its numbers. These may be those of many
  /// other rows as well, so it is found by its row.
  func about(_ edit: Version, table: Int64, _ key: Key) throws(SQLiteError) -> Item? {
    guard let number = versions.origins.knownNumber(of: edit.edit.origin) else { return nil }
    return try latest(
      Self.ofRow,
      [
        .integer(number), .integer(Int64(edit.first.seq)), .integer(Int64(edit.edit.seq)),
        .integer(table), .blob(key.bytes),
      ])
  }

  private func latest(
    _ condition: String, _ arguments: [SQLite.Value]
  ) throws(SQLiteError) -> Item? {
    try read(connection, condition, arguments)
      .max { ($0.version.term, $0.version.dot.seq) < ($1.version.term, $1.version.dot.seq) }
  }

  /// The ruling of this dot.
  func item(_ dot: Dot, on reader: Connection? = nil) throws(SQLiteError) -> Item? {
    guard let number = versions.origins.knownNumber(of: dot.origin) else { return nil }
    return try read(
      reader ?? connection, "WHERE r.origin = ? AND r.seq = ?",
      [.integer(number), .integer(Int64(dot.seq))]
    ).first
  }

  /// Why an edit of this row was rejected last in a term; nil if none was.
  func rejection(table: Int64, _ key: Key, in term: Term) throws(SQLiteError) -> Reason? {
    let last = try read(
      connection, "WHERE r.tbl = ? AND r.key = ?", [.integer(table), .blob(key.bytes)]
    ).compactMap { item -> (seq: UInt64, reason: Reason)? in
      guard case .rejected(let reason) = item.ruling.kind, item.version.term == term else {
        return nil
      }
      return (item.version.dot.seq, reason)
    }.max { $0.seq < $1.seq }
    return last?.reason
  }

  /// Those about the office.
  func standDowns() throws(SQLiteError) -> [Item] {
    try read(
      connection, "WHERE r.kind = ?", [.integer(Int64(Ruling.Kind.stoodDown.rawValue))])
  }

  /// What a node has said about the office in a term, in order: that of its present life last.
  ///
  /// A file that was put back counts its edits from an earlier number on, so that their times tell
  /// which life came later.
  func words(of node: Identity, in term: Term) throws(SQLiteError) -> [Ruling.Kind] {
    let words = try self.words(of: node).filter { $0.version.term == term }
    let lives = Dictionary(grouping: words, by: \.version.dot.origin)
    let ends = lives.mapValues { $0.map(\.version.stamp).max() ?? .zero }
    return words.sorted { left, right in
      let (one, other) = (left.version.dot, right.version.dot)
      if one.origin == other.origin { return one.seq < other.seq }
      return (ends[one.origin] ?? .zero, one.origin) < (ends[other.origin] ?? .zero, other.origin)
    }.map(\.ruling.kind)
  }

  /// Whether a node has taken the office of a term under another origin than this.
  func tookOffice(
    _ node: Identity, in term: Term, but origin: Origin
  ) throws(SQLiteError) -> Bool {
    try words(of: node).contains {
      $0.ruling.kind == .tookOffice && $0.version.term == term && $0.version.dot.origin != origin
    }
  }

  private func words(of node: Identity) throws(SQLiteError) -> [Item] {
    let kinds = [Ruling.Kind.stoodDown, .tookOffice].map { Int64($0.rawValue) }
    return try read(
      connection, "WHERE r.kind IN (?, ?) AND r.rule = ?",
      kinds.map { .integer($0) } + [.string(node.description)])
  }

  /// Of what one origin says about the office in one term so many words are kept: the first ones
  /// and the last.
  ///
  /// An honest node says two or three. Who was an anchor once may say them for ever, and they are
  /// not among those that go when they are old.
  static let wordsOfOne = 8

  /// Lets go of what one origin has said too much about the office.
  func trimWords(of origin: Int64) throws(SQLiteError) {
    let words = try read(connection, "WHERE r.origin = ? AND r.kind >= 128", [.integer(origin)])
    guard words.count > Self.wordsOfOne else { return }
    for said in Dictionary(grouping: words, by: \.version.term).values
    where said.count > Self.wordsOfOne {
      let seqs = said.map(\.version.dot.seq).sorted()
      for seq in seqs[(Self.wordsOfOne - 1)..<(seqs.count - 1)] {
        try connection.run(
          "DELETE FROM _flotilla_ruling WHERE origin = ? AND seq = ?",
          [.integer(origin), .integer(Int64(seq))])
      }
    }
  }

  /// Origins that have said more in all than is kept of one in a term.
  func talkers() throws(SQLiteError) -> [Int64] {
    try connection.integers(
      "SELECT origin FROM _flotilla_ruling WHERE kind >= 128 GROUP BY origin HAVING count(*) > ?",
      [.integer(Int64(Self.wordsOfOne))])
  }

  func read(
    _ connection: Connection, _ condition: String, _ arguments: [SQLite.Value]
  ) throws(SQLiteError) -> [Item] {
    try connection.with(
      """
      SELECT r.eorigin, r.eseq, r.origin, r.seq, r.stamp, r.extra, r.kind, r.rule, r.tbl, r.key
      FROM _flotilla_ruling AS r \(condition)
      """, arguments
    ) { (statement) throws(SQLiteError) in
      var items: [Item] = []
      while try statement.step() {
        if let item = item(from: statement, at: 0) { items.append(item) }
      }
      return items
    }
  }

  func item(from statement: Statement, at first: Int) -> Item? {
    guard let edited = versions.origins.origin(of: statement.integer(first)),
      let origin = versions.origins.origin(of: statement.integer(first + 2)),
      let kind = Ruling.Kind(rawValue: UInt8(clamping: statement.integer(first + 6)))
    else { return nil }
    let dot = Dot(origin, UInt64(clamping: statement.integer(first + 3)))
    var version = Version(
      dot: dot, created: dot, stamp: Stamp(clamping: statement.integer(first + 4)), hash: 0,
      isDeleted: false)
    if !statement.isNull(first + 5) {
      VersionExtra(origins: versions.origins, terms: versions.terms)
        .decode(statement.bytes(first + 5), at: nil, into: &version)
    }
    let ruling = Ruling(
      kind, edit: Dot(edited, UInt64(clamping: statement.integer(first + 1))),
      rule: statement.value(first + 7).string ?? "")
    return Item(
      table: statement.integer(first + 8), key: Key(bytes: statement.bytes(first + 9)),
      version: version, ruling: ruling)
  }

  /// Whether there may have been more, here or where these have come from.
  func mayLack() throws(SQLiteError) -> Bool {
    if try Meta(connection: connection).integer(.rulingsGone) != nil { return true }
    guard !connection.isAutocommit else { return try count() >= Int64(limit) }
    if tally == nil { tally = try count() }
    return tally.map { $0 >= Int64(limit) } ?? false
  }

  private func count() throws(SQLiteError) -> Int64 {
    try connection.scalar("SELECT count(*) FROM _flotilla_ruling WHERE kind < 128").integer ?? 0
  }

  /// What the keys may take of rows that edits of one member were rejected for.
  static let bytesOfOne: Int64 = 64 << 20

  /// The oldest beyond the limit, but for those about the office, which have their own, and those
  /// whose word an edit of this replica still waits for.
  ///
  /// The keys that one member's edits have may take so much, but for the last.
  func excess() throws(SQLiteError) -> [Name] {
    let size = try connection.scalar("SELECT sum(length(key)) FROM _flotilla_ruling").integer ?? 0
    let isOver = try count() > Int64(limit)
    guard isOver || size > Self.bytesOfOne else { return [] }
    return try connection.with(
      """
      SELECT eorigin, eseq, origin, seq FROM (
        SELECT *, row_number() OVER (ORDER BY stamp DESC) AS place FROM (
          SELECT r.eorigin, r.eseq, r.origin, r.seq, r.stamp, r.kind,
            row_number() OVER newest AS nth, sum(length(r.key)) OVER newest AS bytes
          FROM _flotilla_ruling AS r LEFT JOIN _flotilla_origin AS o ON o.id = r.eorigin
          LEFT JOIN _flotilla_author AS a ON a.origin = o.origin WHERE r.kind < 128
          WINDOW newest AS (PARTITION BY ifnull(a.node, r.eorigin) ORDER BY r.stamp DESC
            ROWS UNBOUNDED PRECEDING)))
      WHERE (place > ?1 OR nth > 1 AND bytes > ?2)
        AND eseq NOT IN (SELECT seq FROM _flotilla_verdict WHERE verdict IS NULL)
      ORDER BY place DESC
      """, [.integer(Int64(limit)), .integer(Self.bytesOfOne)]
    ) { (statement) throws(SQLiteError) in
      var names: [Name] = []
      while try statement.step() {
        names.append(
          Name(
            eorigin: statement.integer(0), eseq: statement.integer(1),
            origin: statement.integer(2), seq: statement.integer(3)))
      }
      return names
    }
  }

  /// Lets go of all that is too much, where few others have the file open.
  func trim() throws(SQLiteError) {
    for origin in try talkers() { try trimWords(of: origin) }
    let names = try excess()
    guard !names.isEmpty else { return }
    try connection.transaction { () throws(SQLiteError) in try remove(names) }
  }

  /// Lets go of these, unless an edit of this replica waits for one by now.
  func remove(_ names: [Name]) throws(SQLiteError) {
    var gone = 0
    for name in names {
      gone += try connection.run(
        """
        DELETE FROM _flotilla_ruling
        WHERE eorigin = ? AND eseq = ? AND origin = ? AND seq = ? AND NOT EXISTS (
          SELECT 1 FROM _flotilla_verdict WHERE verdict IS NULL AND seq = eseq)
        """,
        [
          .integer(name.eorigin), .integer(name.eseq), .integer(name.origin), .integer(name.seq),
        ])
    }
    guard gone > 0 else { return }
    tally = nil
    try Meta(connection: connection).set(.rulingsGone, .integer(1))
  }
}
