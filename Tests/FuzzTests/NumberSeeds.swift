import Replication

/// What is said of keys that may be given twice: turns, elders, parents and former places.
extension Seeds {
  private static let person = TableShape(
    name: "person", keyCount: 1, columns: ["id", "boss", "v"], affinities: [.integer])
  private static let line = TableShape(
    name: "line", keyCount: 2, columns: ["person", "n", "v"], affinities: [.integer, .integer])
  private static let names = TableShape(
    name: "_flotilla_column", keyCount: 2, columns: ["tbl", "name", "first"],
    affinities: [.text, .text])

  /// The origin of the sandbox, where rows 1 and 2 are its own.
  private static let own = Origin(rawValue: 1)

  private static func link(_ column: String) -> UInt32 {
    let hash = ContentHash.column(column) &* 31 &+ tableSeed("person")
    return UInt32(truncatingIfNeeded: hash ^ (hash >> 32))
  }

  private static func former(_ number: Int64, _ created: Dot) -> FormerKey {
    FormerKey(
      key: Key([.integer(number)], collations: [.binary])!, created: created, edit: created)
  }

  private static func numbering(
    turn: Stamp? = .zero, elders: [Creation] = [], boss: Dot? = nil, person: Dot? = nil,
    former: [FormerKey] = []
  ) -> Numbering {
    var numbering = Numbering()
    (numbering.turn, numbering.elders, numbering.former) = (turn, elders, former)
    let parents = [("boss", boss), ("person", person)]
    numbering.parents = parents.compactMap { column, row in
      row.map { ParentRow(link: link(column), made: Creation(at: .zero, dot: $0)) }
    }
    return numbering
  }

  private static func numbers(
    _ rows: [(TableShape, [Value], Numbering)], stamp: Int64 = 1 << 45
  ) -> [UInt8] {
    var writer = RowBatchWriter()
    for (index, row) in rows.enumerated() {
      let dot = Dot(origins[0], UInt64(index + 1))
      var version = Version(
        dot: dot, created: dot, stamp: Stamp(rawValue: stamp + Int64(index)), hash: 7,
        isDeleted: false)
      version.numbering = row.2
      writer.add(row.0, version, .values(row.1))
    }
    return writer.bytes
  }

  /// Rows that take numbers, lose them, say that others have moved, in a circle as well, and hold
  /// the last of all numbers; names of columns that change from one to the next.
  static var numbered: [[UInt8]] {
    let (ann, mine) = (Dot(own, 1), Dot(own, 2))
    let first = Dot(origins[0], 1)
    let second = Dot(origins[0], 2)
    let elders = [Creation(at: .zero, dot: first), Creation(at: .highest, dot: mine)]
    return [
      numbers(
        [
          (person, [.integer(1), .null, text("a")], numbering()),
          (person, [.integer(2), .integer(1), text("b")], numbering(boss: first)),
          (line, [.integer(1), .integer(1), text("c")], numbering(elders: elders, person: first)),
        ], stamp: 1),
      numbers([
        (person, [.integer(7), .null, text("a")], numbering(former: [former(1, ann)])),
        (person, [.integer(8), .integer(7), text("b")], numbering(former: [former(7, first)])),
        (person, [.integer(9), .integer(9), text("b")], numbering(former: [former(8, second)])),
        (line, [.integer(7), .integer(1), text("c")], numbering(elders: elders, person: ann)),
      ]),
      numbers([
        (person, [.integer(.max), .integer(.max), text("a")], numbering(turn: .highest)),
        (person, [.integer(1), .integer(2), text("a")], numbering(boss: mine)),
      ]),
      numbers([
        (names, [text("person"), text("id"), text("pid")], .none),
        (names, [text("person"), text("v"), text("w")], .none),
        (names, [text("line"), text("n"), text("v")], .none),
      ]),
    ]
  }
}
