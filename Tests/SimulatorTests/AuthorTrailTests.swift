import SQLite
import Store
import Testing

@testable import Simulator

/// What each author meant is still so in the end, or the checker of random schemas says so.
@Suite struct `What authors of rows meant` {
  typealias Shown = AuthorTrail.Shown
  private let link = AuthorTrail.Reference(column: 3, parent: 1)

  private func child(_ mark: String, under parent: String, _ value: String = "1") -> Shown {
    Shown(mark: mark, values: [4: value], parents: [link: parent])
  }

  private func parent(_ mark: String) -> Shown { Shown(mark: mark, values: [2: "0"]) }

  private func faults(_ trail: AuthorTrail, _ rows: [EditTrail.Row: Shown]) -> Int {
    trail.faults(standing: rows, columns: [2, 4, 7]).count
  }

  @Test func `a child under a stranger of the same number is noticed`() {
    var trail = AuthorTrail()
    trail.add(before: [:], after: ["p 2": parent("m1")], at: 0, looks: 0)
    trail.add(
      before: [:], after: ["p 2": parent("m2"), "c 1": child("m3", under: "m2")], at: 1, looks: 0)
    trail.add(before: ["p 2": parent("m1")], after: ["p 2": parent("m4")], at: 0, looks: 1)
    trail.add(before: ["p 7": parent("m2")], after: ["p 7": parent("m5")], at: 1, looks: 1)
    #expect(faults(trail, ["c 1": child("m3", under: "m5")]) == 0)
    #expect(faults(trail, ["c 1": child("m3", under: "m2")]) == 0)
    #expect(faults(trail, ["c 1": child("m3", under: "m1")]) == 1)
    #expect(faults(trail, ["c 1": child("m3", under: "m4")]) == 1)
    #expect(faults(trail, ["c 1": child("m3", under: "")]) == 1)
  }

  @Test func `a row that gets the number of a deleted one is the same until the node looks`() {
    for (looks, expected) in [(0, 0), (1, 1)] {
      var trail = AuthorTrail()
      let old = ["p 2": parent("m1"), "c 1": child("m2", under: "m1")]
      trail.add(before: [:], after: old, at: 0, looks: 0)
      trail.add(before: ["p 2": parent("m1")], after: [:], at: 1, looks: 0)
      trail.add(before: [:], after: ["p 2": parent("m3")], at: 1, looks: looks)
      #expect(faults(trail, ["c 1": child("m2", under: "m3")]) == expected)
    }
  }

  @Test func `a value that nobody wrote is noticed, also where its author lacked the column`() {
    var trail = AuthorTrail()
    let made = Shown(mark: "m1", values: [4: "'x'", 7: "3"])
    trail.add(before: [:], after: ["t a": made], at: 0, looks: 0)
    #expect(faults(trail, ["t a": made]) == 0)
    #expect(faults(trail, ["t a": Shown(mark: "m1", values: [4: "'y'", 7: "3"])]) == 1)
    trail.add(
      before: ["t a": Shown(mark: "m1", values: [4: "'x'"])],
      after: ["t a": Shown(mark: "m2", values: [4: "'z'"])], at: 1, looks: 0)
    #expect(faults(trail, ["t a": Shown(mark: "m2", values: [4: "'z'", 7: "3"])]) == 0)
    #expect(faults(trail, ["t a": Shown(mark: "m2", values: [4: "'x'", 7: "3"])]) == 1)
    #expect(faults(trail, ["t a": Shown(mark: "m2", values: [4: "'z'", 7: "0"])]) == 1)
    // What an author has not touched counts as it was written, not as it was shown.
    trail.add(
      before: ["t a": Shown(mark: "m2", values: [4: "'z'", 7: "NULL"])],
      after: ["t a": Shown(mark: "m3", values: [4: "''", 7: "NULL"])], at: 1, looks: 0)
    #expect(faults(trail, ["t a": Shown(mark: "m3", values: [4: "''", 7: "3"])]) == 0)
    #expect(faults(trail, ["t a": Shown(mark: "m3", values: [4: "''", 7: "NULL"])]) == 1)
  }

  @Test func `two nodes give one number, and each child stays under its own parent`() throws {
    var random = Seeded(1)
    let schema = Self.numbered
    let nodes = try (0...1).map { try SchemaNode($0, schema, at: 0, &random) }
    try nodes[0].store.track(["p", "c"], rule: nil, at: nodes[0].now)
    try nodes[1].pull(from: nodes[0], inSteps: false)
    var trail = AuthorTrail()
    for (number, node) in nodes.enumerated() {
      let before = try node.rowsShown()
      node.setClock(Int64(1 + number) * 5_000)
      try node.program.execute(
        """
        INSERT INTO p VALUES (2, 'p\(number)');
        INSERT INTO c VALUES ('\(number)', 2, 'x', 'c\(number)')
        """)
      trail.add(before: before, after: try node.rowsShown(), at: number, looks: node.looks)
      try node.foldAll()
    }
    for _ in 0..<3 {
      try nodes[0].pull(from: nodes[1], inSteps: false)
      try nodes[1].pull(from: nodes[0], inSteps: false)
    }
    let rows = try nodes[1].rowsShown()
    let reference = AuthorTrail.Reference(column: 4, parent: 1)
    let expected = Shown(mark: "c1", values: [4: "3", 5: "'x'"], parents: [reference: "p1"])
    #expect(rows.count == 4 && rows["c '1'"] == expected)
    #expect(trail.faults(standing: rows, columns: [5]) == [])
    try nodes[1].program.execute("UPDATE c SET r = 2")
    #expect(trail.faults(standing: try nodes[1].rowsShown(), columns: [5]).count == 1)
  }

  /// A table with whole numbers as keys, and one that refers to it.
  private static var numbered: ApplicationSchema {
    func column(_ number: Int, _ name: String, _ type: String) -> ApplicationSchema.Column {
      ApplicationSchema.Column(number: number, name: name, type: type, values: [])
    }
    let parent = ApplicationSchema.Table(
      number: 1, name: "p", first: "p",
      columns: [column(1, "id", "INTEGER"), column(2, "pm", "TEXT")], key: [1], options: "",
      mark: 2)
    var child = ApplicationSchema.Table(
      number: 2, name: "c", first: "c",
      columns: [
        column(3, "k", "TEXT"), column(4, "r", "INTEGER"), column(5, "v", "TEXT"),
        column(6, "cm", "TEXT"),
      ], key: [3], options: "", mark: 6)
    child.foreignKeys = [
      ApplicationSchema.ForeignKey(columns: [4], parent: 1, parentColumns: [], actions: "")
    ]
    return ApplicationSchema(tables: [parent, child])
  }
}
