import Testing

@testable import Simulator

/// A random schema that has found a fault, with what it was.
struct KeptSchema: Sendable, CustomStringConvertible {
  let seed: UInt64
  let found: String
  var kind = Kind.plain

  /// What else goes on beside migrations.
  enum Kind {
    case plain, tables, twins, numberedTwins, emptied, anchor, anchorAndNumbers, anchorAndTables
  }

  var plan: SchemaRun.Plan {
    let numbers = [.numberedTwins, .anchorAndNumbers].contains(kind)
    var plan = SchemaRun.Plan(seed: seed, numbers: numbers)
    plan.hasAnchor = [.anchor, .anchorAndNumbers, .anchorAndTables].contains(kind)
    plan.renamesTables = [.tables, .anchorAndTables].contains(kind)
    plan.makesTwins = [.twins, .numberedTwins].contains(kind)
    plan.emptiesTables = kind == .emptied
    return plan
  }

  var description: String { "schemas \(seed): \(found)" }

  static let all = [
    KeptSchema(seed: 63, found: "a default that a migration took away had the hash of the old one"),
    KeptSchema(seed: 147, found: "of two columns of one declaration the wrong one was renamed"),
    KeptSchema(seed: 227, found: "two machines took a column for different ones"),
    KeptSchema(seed: 561, found: "a row of a new table stood where its parent did not"),
    KeptSchema(seed: 855, found: "the same, after the parent was deleted"),
    KeptSchema(seed: 1082, found: "a default stood for ever where a NULL had come too early"),
    KeptSchema(seed: 1502, found: "the same, at a start"),
    KeptSchema(
      seed: 5750, found: "what was written over a parked image had seen what that showed"),
    KeptSchema(seed: 6421, found: "a column was renamed and declared otherwise at once"),
    KeptSchema(seed: 9923, found: "a row was missing from indexes, which is a fault of SQLite"),
    KeptSchema(seed: 7825, found: "of two first names of a column one was forgotten"),
    KeptSchema(seed: 13046, found: "a row took the key of its parent, and both went unseen"),
    KeptSchema(seed: 13765, found: "nobody said how a column is called, which no row could tell"),
    KeptSchema(seed: 14047, found: "a value was lost that came with two names of its column"),
    KeptSchema(seed: 101928, found: "a row waited for a parent that had come off the shelf"),
    KeptSchema(seed: 105564, found: "a trigger moved a mark to another row"),
    KeptSchema(seed: 115070, found: "a row of another type was taken for changed"),
    KeptSchema(seed: 121657, found: "an edit between two migrations was none"),
    KeptSchema(seed: 141247, found: "a column was guessed to be another one, beside a rival"),
    KeptSchema(seed: 102552, found: "of two values for one column machines showed different ones"),
    KeptSchema(seed: 129210, found: "a row referred to nothing by a value that had just entered"),
    KeptSchema(seed: 140103, found: "a row was said to fit, which a trigger changes at once"),
    KeptSchema(seed: 102695, found: "of two renames at once nobody said which is which"),
    KeptSchema(seed: 501034, found: "a value stood that was there for want of one of another name"),
    KeptSchema(seed: 129869, found: "SQLite took one column for another one"),
    KeptSchema(seed: 704714, found: "a row was missing from indexes before its transaction ended"),
    KeptSchema(seed: 1_000_233, found: "a NULL was passed on where no machine shows it any more"),
    KeptSchema(seed: 1_007_842, found: "a number was kept where all machines show it as text"),
    KeptSchema(
      seed: 1_014_354, found: "of two values for one column a machine showed the other one"),
    KeptSchema(seed: 1_030_130, found: "the same, where another column was renamed in place"),
    KeptSchema(
      seed: 1_206_250, found: "NULL stayed where it counted, and a migration had put a default"),
    KeptSchema(
      seed: 1_207_806, found: "the same, of a row that had come from another schema"),
    KeptSchema(
      seed: 1_211_732, found: "the same of a number, which was the default of one machine alone"),
    KeptSchema(
      seed: 1_217_526, found: "what a migration had made of an edit lost, and was in no log"),
    KeptSchema(
      seed: 1_216_767, found: "a column that was added showed the values of one that was dropped"),
    KeptSchema(
      seed: 2_000_946, found: "NULL stayed where a column was renamed and got a default at once"),
    KeptSchema(
      seed: 1_210_123, found: "an edit passed a NULL on that its column had ceased to take"),
    KeptSchema(
      seed: 3_014_567, found: "three rows that refer to each other waited for each other"),
    KeptSchema(
      seed: 3_011_113, found: "two columns that had moved were taken for each other by their places"
    ),
    KeptSchema(seed: 110211, found: "the same, where both had changed their types crosswise"),
    KeptSchema(
      seed: 9_100_748, found: "a default that was filled in went before a NULL that was written"),
    KeptSchema(
      seed: 900007, found: "rows came for a table before what it held was looked at",
      kind: .tables),
    KeptSchema(
      seed: 900027, found: "nobody said which table one is of which no row was as before",
      kind: .tables),
    KeptSchema(
      seed: 910177, found: "rows were written while a trigger had the old name of its table",
      kind: .tables),
    KeptSchema(
      seed: 910187, found: "a row waited for its parent when its table had come back",
      kind: .tables),
    KeptSchema(
      seed: 910642, found: "rows were looked for by keys of fewer columns", kind: .tables),
    KeptSchema(
      seed: 1_200_481, found: "rows stood without what the rows of a table let in had replaced",
      kind: .tables),
    KeptSchema(
      seed: 1_203_114, found: "a NULL that counts elsewhere hid the default of a later migration",
      kind: .tables),
    KeptSchema(
      seed: 1_203_309, found: "a person was asked about a table under a name of before",
      kind: .tables),
    KeptSchema(
      seed: 1134, found: "a row was another one once its table was known under two names",
      kind: .numberedTwins),
    KeptSchema(
      seed: 1489, found: "rows came into a table that another table of the site is here",
      kind: .numberedTwins),
    KeptSchema(
      seed: 20110, found: "a parked row went with the second name of its table",
      kind: .numberedTwins),
    KeptSchema(
      seed: 21064, found: "a row that a program had written went for the one that waited there",
      kind: .numberedTwins),
    KeptSchema(
      seed: 291, found: "a value waits where the table that it is for was emptied", kind: .emptied),
    KeptSchema(
      seed: 5952, found: "an edit that was made again referred to nothing for good", kind: .anchor),
    KeptSchema(
      seed: 5706, found: "a row was made again for ever, whose number is no number any more",
      kind: .anchorAndNumbers),
    KeptSchema(
      seed: 5008, found: "a row followed its parent for ever to where the anchor had not let it",
      kind: .anchorAndNumbers),
    KeptSchema(
      seed: 6439, found: "a row waited for a parent that is deleted, and was in no log",
      kind: .anchorAndNumbers),
    KeptSchema(
      seed: 5694, found: "a cascade took the key of a row, which is replicated no more",
      kind: .anchorAndNumbers),
    KeptSchema(
      seed: 6042, found: "a row put in again after a delete, and not seen yet, went in no log",
      kind: .anchorAndTables),
    KeptSchema(
      seed: 11659, found: "an edit was made again for ever on top of what a migration made of it",
      kind: .anchor),
    KeptSchema(
      seed: 11409, found: "a row that the anchor knew by name alone did not follow its parent",
      kind: .anchor),
    KeptSchema(
      seed: 11587, found: "an edit that waited lost to a row of a dropped table, and was in no log",
      kind: .anchor),
    KeptSchema(
      seed: 11998, found: "a row went back to its number, and wrote over what stood there",
      kind: .anchorAndNumbers),
    KeptSchema(
      seed: 10323, found: "what was replaced while its table had another name was in no log",
      kind: .anchorAndTables),
    KeptSchema(
      seed: 33_000_699, found: "a foreign key was taken for one to another table of that name",
      kind: .twins),
  ]
}

@Suite(.timeLimit(.minutes(10))) struct `Random schemas` {
  @Test(arguments: KeptSchema.all)
  func `that once found a fault find none`(kept: KeptSchema) {
    #expect(SchemaRun(kept.plan).faults == [])
  }

  @Test func `run the same each time`() {
    for seed in 1...3 as ClosedRange<UInt64> {
      let plan = SchemaRun.Plan(seed: seed)
      let (first, second) = (SchemaRun(plan, isTold: true), SchemaRun(plan, isTold: true))
      #expect(first.story == second.story && first.story.count > 5)
    }
  }

  @Test func `an edit that is nowhere is missed`() {
    var trail = EditTrail()
    trail.add(before: [:], after: ["t a": "m1", "t b": "m2"])
    #expect(trail.faults(standing: ["t a": "m1", "t b": "m2"], held: [], deleted: []) == [])
    #expect(trail.faults(standing: ["t a": "m1"], held: ["m2"], deleted: []) == [])
    #expect(trail.faults(standing: ["t a": "m1"], held: [], deleted: []).count == 1)
  }

  @Test func `an edit that stands though it was replaced is noticed`() {
    var trail = EditTrail()
    trail.add(before: [:], after: ["t a": "m1"])
    trail.add(before: ["t a": "m1"], after: ["t a": "m2"])
    trail.add(before: ["t a": "m2"], after: [:])
    #expect(trail.faults(standing: [:], held: [], deleted: []) == [])
    #expect(trail.faults(standing: ["t a": "m2"], held: [], deleted: []).count == 1)
    #expect(trail.faults(standing: ["t a": "m2"], held: [], deleted: ["t a"]) == [])
    // The delete became a row again, which has lost.
    trail.add(before: [:], after: ["t a": "m3"])
    #expect(trail.faults(standing: ["t a": "m2"], held: ["m3"], deleted: []) == [])
    #expect(trail.faults(standing: ["t a": "m1"], held: [], deleted: []).count == 2)
  }
}
