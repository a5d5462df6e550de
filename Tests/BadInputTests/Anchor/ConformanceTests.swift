import Testing

extension BadInputTests {
  /// Every case of the conformance table under each of its rules: two nodes, edits by `sqlite3` in
  /// the order that the table gives, and what the program says of them. The clocks of both machines
  /// are wrong on purpose, for whatever runs there: at the anchor a year ahead, at the node a year
  /// behind.
  @Suite(.enabled(if: FalseClock.library != nil, "libfaketime is not here"))
  struct ConformanceTests {
    /// The edits of the node are made by `flotilla sql --online`, which is told the verdict, or by
    /// `sqlite3`, which knows nothing of Flotilla.
    @Test(arguments: MergeCase.rules, [true, false])
    func `the node is told what the table says, and both sides end with the row that stands`(
      rule: String, isTold: Bool
    ) async throws {
      try await Desk.with { desk in
        try await MergeSite.play(rule, isTold: isTold, at: desk)
      }
    }
  }
}
