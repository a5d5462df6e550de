import Replication
import SQLite
import Store

/// What the file tells of the anchor, read with SQL of the simulator's own.
extension Application {
  func office(of tables: [ApplicationTable]) throws -> OfficeView {
    var view = OfficeView()
    if let bytes = try meta("office") {
      var reader = ByteReader(bytes)
      view.term = try reader.term("office")
      view.isHeld = try reader.byte("office") == 1
      view.part = try reader.byte("office")
    }
    if let bytes = try meta("judged") {
      var reader = ByteReader(bytes)
      let term = try reader.term("judged")
      view.judged = Judged(term: term, frontier: try reader.frontier("judged"))
    }
    try read("_flotilla_pending", of: tables) { view.pending[$0, default: []].append($1) }
    view.nameless = Set(
      try connection.rows(
        """
        SELECT o.origin, p.seq FROM _flotilla_pending AS p
        JOIN _flotilla_origin AS o ON o.id = p.origin WHERE p.row IS NULL
        """
      ).map { Self.dot($0[0], $0[1]) })
    view.rulings = try rulings()
    for row in try connection.rows("SELECT seq, verdict FROM _flotilla_verdict") {
      view.verdicts.updateValue(row[1].string, forKey: UInt64(row[0].integer ?? 0))
    }
    return view
  }

  private func meta(_ name: String) throws -> [UInt8]? {
    try connection.scalar(
      "SELECT value FROM _flotilla_meta WHERE name = ?", [.string(name)]
    ).blob
  }

  private func rulings() throws -> [OfficeView.Ruled] {
    var numbers = NumberedNames()
    return try connection.rows(
      """
      SELECT e.origin, r.eseq, o.origin, r.seq, r.kind, r.extra FROM _flotilla_ruling AS r
      JOIN _flotilla_origin AS e ON e.id = r.eorigin JOIN _flotilla_origin AS o ON o.id = r.origin
      """
    ).map { row in
      let dot = Self.dot(row[2], row[3])
      var version = Version(
        dot: dot, created: dot, stamp: .zero, hash: 0, isDeleted: false)
      if let extra = row[5].blob {
        try numbers.load(connection)
        numbers.decode(extra, at: nil, &version)
      }
      return OfficeView.Ruled(
        dot: dot, kind: UInt8(row[4].integer ?? 0), edit: Self.dot(row[0], row[1]),
        term: version.term)
    }
  }

  func log(of tables: [ApplicationTable]) throws -> [Observation.Logged] {
    let wanted = Set(tables.map(\.name))
    return try connection.rows(
      "SELECT name, key, reason, loser, winner FROM _flotilla_conflict"
    ).compactMap { row in
      guard let table = row[0].string, wanted.contains(table) else { return nil }
      let loser = row[3].blob.flatMap(ConflictSide.init)
      let winner = row[4].blob.flatMap(ConflictSide.init)
      let key = Key(bytes: row[1].blob ?? [])
      return Observation.Logged(
        row: names.number(of: key, in: table), reason: row[2].string ?? "",
        loser: loser?.edit, winner: winner?.edit,
        isWhole: loser.map { $0.isDeleted || $0.values.count > $0.keyCount || table == "tag" }
          ?? false)
    }
  }

  private static func dot(_ origin: SQLite.Value, _ seq: SQLite.Value) -> Dot {
    Dot(Origin(rawValue: UInt64(bitPattern: origin.integer ?? 0)), UInt64(seq.integer ?? 0))
  }
}
