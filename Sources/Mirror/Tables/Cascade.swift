import SQLite

/// What a foreign key of the server does by itself to rows of other tables. No trigger of theirs
/// fires then ("Cascaded foreign key actions do not activate triggers", dev.mysql.com), so one of
/// the table it begins at notes their keys before it happens.
struct Cascade: Equatable {
  /// One step: rows of `child` whose `columns` are the `parentColumns` of `parent`.
  struct Step: Equatable {
    var parent: Place
    var child: Place
    var columns: [String]
    var parentColumns: [String]
    var onDelete: Bool
    var onUpdate: Bool
  }

  struct Place: Equatable, Hashable {
    var schema: String
    var name: String
    var sqlName: String { "\(serverName(schema)).\(serverName(name))" }
  }

  /// Where it begins.
  let parent: Place
  /// The ways to tables that are mirrored: the steps, and the table at the end.
  let ways: [(steps: [Step], link: TableLink)]

  static func == (left: Cascade, right: Cascade) -> Bool {
    left.parent == right.parent && left.ways.map(\.steps) == right.ways.map(\.steps)
  }

  /// Stands for the table where it begins in the names of its triggers: they are the same whichever
  /// other tables are mirrored.
  private var mark: String {
    String(RowKey.fingerprint([.string(parent.schema), .string(parent.name)]).prefix(12))
  }

  var schema: String { parent.schema }
  var numbers: [Int] { ways.map(\.link.number) }

  private static let deepest = 8
  /// With more ways than that a trigger would be longer than anybody reads.
  private static let mostWays = 1_000

  static let objection =
    "cascades of the server reach it in a circle or in more than \(mostWays) ways, which no "
    + "trigger can follow"

  /// Those that end in a mirrored table; the tables that are reached in a circle, which no trigger
  /// can follow.
  static func read(
    _ links: [TableLink], on server: ServerConnection
  ) throws(ServerError) -> (cascades: [Cascade], circular: Set<Int>) {
    let steps = try steps(on: server)
    var ways: [Place: [(steps: [Step], link: TableLink)]] = [:]
    var circular: Set<Int> = []
    for link in links {
      let end = Place(schema: link.server.schema, name: link.server.name)
      var open = steps.filter { $0.child == end }.map { [$0] }
      var count = 0
      while let way = open.popLast() {
        let parent = way[0].parent
        count += 1
        guard count <= mostWays else {
          circular.insert(link.number)
          break
        }
        if parent == end || way.contains(where: { $0.child == parent }) || way.count > deepest {
          circular.insert(link.number)
          continue
        }
        ways[parent, default: []].append((way, link))
        open += steps.filter { $0.child == parent }.map { [$0] + way }
      }
    }
    let cascades = ways.keys.sorted { $0.sqlName < $1.sqlName }.map { parent in
      Cascade(
        parent: parent, ways: (ways[parent] ?? []).filter { !circular.contains($0.link.number) })
    }
    return (cascades.filter { !$0.ways.isEmpty }, circular)
  }

  private static func steps(on server: ServerConnection) throws(ServerError) -> [Step] {
    let rows = try server.rows(
      of: 9,
      """
      SELECT k.table_schema, k.table_name, k.referenced_table_schema, k.referenced_table_name,
        k.constraint_name, k.column_name, k.referenced_column_name, r.delete_rule, r.update_rule
      FROM information_schema.key_column_usage k
      JOIN information_schema.referential_constraints r
        ON r.constraint_schema = k.constraint_schema AND r.constraint_name = k.constraint_name
        AND r.table_name = k.table_name
      WHERE k.referenced_table_name IS NOT NULL
        AND (r.delete_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT')
          OR r.update_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT'))
      ORDER BY k.table_schema, k.table_name, k.constraint_name, k.ordinal_position
      """)
    var steps: [(name: String, step: Step)] = []
    for row in rows.map({ $0.map { $0.string ?? "" } }) {
      let child = Place(schema: row[0], name: row[1])
      if let last = steps.indices.last, steps[last].name == row[4],
        steps[last].step.child == child
      {
        steps[last].step.columns.append(row[5])
        steps[last].step.parentColumns.append(row[6])
        continue
      }
      let acts: Set<String> = ["CASCADE", "SET NULL", "SET DEFAULT"]
      steps.append(
        (
          row[4],
          Step(
            parent: Place(schema: row[2], name: row[3]), child: child, columns: [row[5]],
            parentColumns: [row[6]], onDelete: acts.contains(row[7]),
            onUpdate: acts.contains(row[8]))
        ))
    }
    return steps.map(\.step)
  }

  /// The triggers of the table where it begins.
  func triggers(_ capture: Capture) -> [Capture.Trigger] {
    typealias Kind = (
      letter: String, timing: String, event: String, rows: [String], isDelete: Bool
    )
    let kinds: [Kind] = [
      ("d", "BEFORE", "DELETE", ["OLD"], true), ("b", "BEFORE", "UPDATE", ["OLD"], false),
      ("a", "AFTER", "UPDATE", ["NEW"], false),
    ]
    return kinds.compactMap { letter, timing, event, rows, isDelete in
      let noted = ways.filter { way in
        isDelete ? way.steps.allSatisfy(\.onDelete) || way.steps[0].onDelete : way.steps[0].onUpdate
      }.flatMap { way in
        rows.map { row in
          (way.link.number, note(way.steps, way.link, row, isDelete: isDelete, capture))
        }
      }
      guard !noted.isEmpty else { return nil }
      let notes = noted.map(\.1)
      return Capture.Trigger(
        table: parent, name: capture.triggerName("c\(mark)_\(letter)"), timing: timing,
        event: event,
        body: "BEGIN IF \(capture.own) IS NULL THEN \(notes.joined(separator: " ")) END IF; END",
        notes: Dictionary(grouping: noted, by: \.0).mapValues { $0.map(\.1) }, numbers: numbers)
    }
  }

  /// Notes the keys of the rows at the end of a way that begins at the row `row`.
  private func note(
    _ steps: [Step], _ link: TableLink, _ row: String, isDelete: Bool, _ capture: Capture
  ) -> String {
    let last = steps.count - 1
    let keys = link.serverKey.map { "t\(last).\(serverName($0))" }.joined(separator: ", ")
    var from = "\(steps[last].child.sqlName) t\(last)"
    for place in stride(from: last, to: 0, by: -1) {
      let meets = zip(steps[place].columns, steps[place].parentColumns).map { own, other in
        "t\(place).\(serverName(own)) = t\(place - 1).\(serverName(other))"
      }
      from +=
        " JOIN \(steps[place - 1].child.sqlName) t\(place - 1) ON "
        + meets.joined(separator: " AND ")
    }
    let begins = zip(steps[0].columns, steps[0].parentColumns).map { own, other in
      "t0.\(serverName(own)) = \(row).\(serverName(other))"
    }.joined(separator: " AND ")
    let moved = steps[0].parentColumns.map {
      "OLD.\(serverName($0)) <=> NEW.\(serverName($0))"
    }.joined(separator: " AND ")
    let names = Capture.keyNames(link).joined(separator: ", ")
    let insert = """
      INSERT INTO \(capture.journal(link.number))(\(names), own) \
      SELECT \(keys), \(capture.turn) FROM \(from) WHERE \(begins);
      """
    return isDelete ? insert : "IF NOT (\(moved)) THEN \(insert) END IF;"
  }
}
