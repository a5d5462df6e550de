import Testing

@testable import FlotillaBench

/// The words of the benchmark, and what a PostgreSQL server says to it.
@Suite struct `The words of the benchmark` {
  private func options(_ words: String...) throws(Options.Misuse) -> Options {
    try Options(words, known: ["burst", "idle"])
  }

  @Test func `options and names come in any order`() throws {
    let parsed = try options(
      "idle", "--quick", "--compare", "old.json", "burst", "--save", "new.json", "--plots", "p")
    #expect(parsed.names == ["idle", "burst"] && parsed.extent == .quick)
    #expect(parsed.compare == "old.json" && parsed.save == "new.json" && parsed.plots == "p")
    #expect(try options("--long").extent == .long)
    #expect(try options() == Options([], known: []))
    #expect(try options("--from", "a", "--markdown").isMarkdown)
  }

  @Test(arguments: [
    (["--fast"], "--fast is no option"), (["bursts"], "there is no measurement bursts; see --list"),
    (["--compare"], "--compare lacks a value"), (["--save", "--json"], "--save lacks a value"),
    (["--json", "--markdown"], "--json and --markdown are two forms"),
  ])
  func `what makes no sense is said`(words: [String], text: String) {
    #expect(throws: Options.Misuse(description: text)) {
      try Options(words, known: ["burst"])
    }
  }

  @Test func `names of measurements differ`() {
    let names = Bench.measurements.map(\.name)
    #expect(Set(names).count == names.count)
  }

  // MARK: PostgreSQL

  @Test func `messages are cut wherever the bytes were`() {
    let first: [UInt8] = [0x5A, 0, 0, 0, 5, 0x49]
    let second: [UInt8] = [0x44, 0, 0, 0, 14, 0, 1, 0, 0, 0, 4, 0x31, 0x32, 0x33, 0x34]
    for cut in 0...(first.count + second.count) {
      var messages = PostgresMessages()
      var found: [PostgresMessages.Message] = []
      for part in [(first + second).prefix(cut), (first + second).dropFirst(cut)] {
        messages.append(part)
        while let message = messages.next() { found.append(message) }
      }
      #expect(found.map(\.kind) == [0x5A, 0x44])
      #expect(found.last.map { PostgresMessages.firstColumn(of: $0.body) } == "1234")
    }
  }

  @Test func `a column may be missing or null`() {
    #expect(PostgresMessages.firstColumn(of: [0, 1, 0xFF, 0xFF, 0xFF, 0xFF]) == nil)
    #expect(PostgresMessages.firstColumn(of: [0, 0]) == nil)
    #expect(PostgresMessages.firstColumn(of: [0, 1, 0, 0, 0, 9, 1]) == nil)
  }

  @Test func `an error is what people read of it`() {
    let body = Array("SERROR\0C42601\0Msyntax error\0\0".utf8)
    #expect(PostgresMessages.text(ofError: body) == "syntax error")
    #expect(PostgresMessages.text(ofError: []) == "")
  }

  @Test func `what is sent begins with its length`() {
    #expect(PostgresMessages.query("a") == [0x51, 0, 0, 0, 6, 0x61, 0])
    let startup = PostgresMessages.startup(user: "u", database: "d")
    #expect(startup.prefix(8) == [0, 0, 0, UInt8(startup.count), 0, 3, 0, 0])
    #expect(startup.suffix(13) == Array("\0database\0d\0\0".utf8)[...])
  }

  @Test func `a writer tells when it began and ended`() throws {
    let times = try InsertRole.times("12 345\n")
    #expect(times.began == 12 && times.ended == 345)
    #expect(throws: BenchError.self) { try InsertRole.times("") }
  }
}
