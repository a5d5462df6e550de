import Foundation
import Testing

/// The optimised program over many schedules, as `make test` builds it.
@Suite(
  .serialized, .timeLimit(.minutes(15)),
  .enabled(if: Program.path != nil, "needs FLOTILLA_SIMULATOR, as make test sets it"))
struct `The simulator` {
  @Test func `finds no fault in 30,000 schedules of versions and machines`() throws {
    try Program.run("pure", "--seeds", "30000", "--jobs", "2")
  }

  @Test func `finds no fault in 2,000 schedules of real stores`() throws {
    try Program.run("full", "--seeds", "2000", "--first", "1293", "--jobs", "2")
  }

  @Test func `finds no fault where machines are away and deleted rows are let go of`() throws {
    try Program.run(
      "pure", "--seeds", "8000", "--jobs", "2", "--with", "collection,slowness", "--steps",
      "250")
  }

  @Test func `finds no fault where deleted rows are let go of beside an anchor`() throws {
    try Program.run(
      "pure", "--seeds", "1000", "--jobs", "2", "--with", "collection,slowness,office",
      "--steps", "250")
  }

  @Test func `finds no fault where tables and columns come and go`() throws {
    try Program.run(
      "full", "--seeds", "1000", "--first", "23400", "--jobs", "2", "--with",
      "migration,removal", "--steps", "300", "--drawn")
  }

  @Test func `finds no fault where anchors come and go and deleted rows are let go of`() throws {
    try Program.run(
      "full", "--seeds", "400", "--first", "602771", "--jobs", "2", "--with", "collection,office")
  }

  @Test func `finds no fault where the files of anchors are put back`() throws {
    try Program.run(
      "full", "--seeds", "600", "--first", "2000", "--jobs", "2", "--with", "office,restore")
  }

  @Test func `finds no fault where the time of the site goes wrong beside an anchor`() throws {
    try Program.run(
      "full", "--seeds", "300", "--jobs", "2", "--with", "office,siteTime", "--without",
      "collection")
  }

  @Test func `finds no fault where programs write beside parked rows`() throws {
    try Program.run(
      "full", "--seeds", "300", "--first", "740000", "--jobs", "2", "--with",
      "unique,swap,crash,diskFull")
  }

  @Test func `finds no fault where programs follow what changes`() throws {
    try Program.run(
      "full", "--seeds", "150", "--first", "1000", "--jobs", "2", "--with",
      "changes,unique,swap,crash")
  }

  @Test func `finds no fault where a member lies until it is shut out`() throws {
    try Program.run(
      "full", "--seeds", "300", "--first", "101000", "--jobs", "2", "--with", "liar",
      "--steps", "250", "--drawn")
  }

  @Test(arguments: [("pure", "3000"), ("full", "200")])
  func `finds no fault where members do not know each other's keys yet`(
    depth: String, count: String
  ) throws {
    try Program.run(
      depth, "--seeds", count, "--jobs", "2", "--with", "strangers,slices,slowness", "--steps",
      "250")
  }

  @Test func `finds no fault where anchors are copied`() throws {
    try Program.run(
      "full", "--seeds", "300", "--first", "201", "--jobs", "2", "--with", "office,clone")
  }

  @Test(arguments: [("pure", "3000"), ("full", "150")])
  func `finds no fault where files are copied and put back and deleted rows are let go of`(
    depth: String, count: String
  ) throws {
    try Program.run(
      depth, "--seeds", count, "--first", "1000", "--jobs", "2", "--with",
      "collection,restore,absence,clone", "--steps", "250")
  }

  @Test func `finds 400 schemas equal whose migrations commit their statements one by one`() throws
  {
    try Program.run("schemas", "--split", "--seeds", "400", "--first", "7000001", "--jobs", "2")
  }

  @Test func `finds 300 schemas equal whose rows get other numbers`() throws {
    try Program.run("schemas", "--numbers", "--seeds", "300", "--first", "40000", "--jobs", "2")
  }

  @Test func `finds 2,000 schemas and their migrations equal, whole and complete`() throws {
    try Program.run("schemas", "--seeds", "1500", "--jobs", "2")
    try Program.run("schemas", "--first", "11601", "--seeds", "200", "--anchor", "--jobs", "2")
    try Program.run(
      "schemas", "--seeds", "100", "--anchor", "--numbers", "--mishaps", "--jobs", "2")
    try Program.run("schemas", "--first", "900001", "--seeds", "200", "--tables", "--jobs", "2")
  }

  @Test func `finds the laws of merging kept in all orders and 200,000 random cases`() throws {
    try Program.run("laws", "--seeds", "10", "--jobs", "2")
  }
}

/// The program that was built optimised, and how it is run.
enum Program {
  static let path = ProcessInfo.processInfo.environment["FLOTILLA_SIMULATOR"]

  /// Runs it to its end, and lets others go first; what it prints is the comment of a failure.
  static func run(_ arguments: String...) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/nice")
    process.arguments = ["-n", "5", try #require(path)] + arguments
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0, "\(text.suffix(4_000))")
  }
}
