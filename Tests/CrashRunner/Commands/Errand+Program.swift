import Glibc
import SQLite

/// A program that uses the library on b.db, beside the node of a.db, which is the anchor.
extension Errand {
  /// a.db becomes the anchor, for a file that was put back is none; b.db hears of it.
  func appointFirst() throws {
    try startBoth()
    try desk.write("a.db", "INSERT INTO u VALUES (0, 'program', 'office')")
    try desk.flotilla("anchor", "a.db", "--here", "--rule", "server-wins-on-conflict")
    let isKnown = try eventually(within: 20_000) {
      try desk.flotilla("anchor", "b.db", "--json").contains(#""state":"connected""#)
    }
    guard isKnown else { throw CrashFailure("b.db hears of no anchor") }
    try awaitEqual()
    try stopSecond()
  }

  /// Words of its next life: it knows what it has printed.
  var programWords: [String] {
    ["b.db", "\(desk.host):0", firstAddress, "\(told.last)"]
  }

  /// The office writes the row that the program writes, too, until that has ended; where its disk
  /// fails for good nothing is expected of it.
  func writeBesideProgram() throws {
    guard let victim else { return }
    var edits = 0
    _ = try eventually(within: isFaultLasting ? 3_000 : 40_000) {
      edits += 1
      if edits % 5 == 0, edits < 40 { try writeAtOffice(edits) }
      return victim.hasEnded()
    }
  }

  private func writeAtOffice(_ number: Int) throws {
    try desk.write("a.db", "UPDATE u SET w = 'office \(number)' WHERE a = 0 AND b = 'program'")
  }

  /// The program is started again, and goes on to its end.
  func finishProgram() throws {
    told.hear(victim?.text ?? "")
    let program = try desk.start(programWords, by: "CrashProgram")
    try writeAtOffice(1)
    let ending = program.wait()
    guard ending == .ended(0) else {
      throw CrashFailure("the program ended with \(ending): \(program.text)")
    }
    told.hear(program.text)
    try startSecond()
    try awaitEqual()
    // Of one that was made again it is told under its first number.
    try told.check(settled: try verdicts("verdict IS NOT NULL AND at IS NOT 0"))
    let open = try verdicts("verdict IS NULL")
    guard open.isEmpty else { throw CrashFailure("no verdict on \(open)") }
    let rows = try desk.content("a.db").rows["u"] ?? []
    for key in told.saved {
      let row = "a=\(key) b='program' w='row \(key)'"
      guard rows.contains(row) else { throw CrashFailure("row \(key) is lost") }
    }
  }

  /// The numbers of own edits of b.db.
  private func verdicts(_ condition: String) throws -> [Int] {
    let connection = try Connection(path: desk.path("b.db"))
    connection.setBusyTimeout(milliseconds: 5_000)
    return try connection.rows(
      "SELECT seq FROM _flotilla_verdict WHERE \(condition) ORDER BY seq"
    ).compactMap { $0[0].integer.map(Int.init) }
  }
}
