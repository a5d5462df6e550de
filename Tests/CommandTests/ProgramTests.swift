import Foundation
import Testing

@testable import FlotillaCommand

/// What one run of the built program printed and how it ended.
struct Ending: Equatable, Sendable {
  var status: Int32
  var results: String
  var remarks: String
}

/// The same for a caller who must not block its thread, for a node in this process has to answer.
func flotilla(_ words: [String], in folder: URL) async throws -> Ending {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread {
      continuation.resume(with: Result { try flotillaBlocking(words, in: folder) })
    }
  }
}

/// Runs the executable that stands beside the test bundle.
private func flotillaBlocking(_ words: [String], in folder: URL? = nil) throws -> Ending {
  let products = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    .deletingLastPathComponent()
  let process = Process()
  process.executableURL = products.appending(component: "flotilla")
  process.arguments = words
  process.currentDirectoryURL = folder
  process.environment = ProcessInfo.processInfo.environment
    .merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
  let results = Pipe()
  let remarks = Pipe()
  process.standardInput = FileHandle.nullDevice
  process.standardOutput = results
  process.standardError = remarks
  try process.run()
  let resultData = try results.fileHandleForReading.readToEnd() ?? Data()
  let remarkData = try remarks.fileHandleForReading.readToEnd() ?? Data()
  process.waitUntilExit()
  return Ending(
    status: process.terminationStatus, results: String(decoding: resultData, as: UTF8.self),
    remarks: String(decoding: remarkData, as: UTF8.self))
}

@Suite struct `The program` {
  @Test func `says on standard error how it is to be used and exits with 2`() throws {
    let ending = try flotillaBlocking(["invite", "clinic.db", "--ttl", "15", "--json"])
    #expect(
      ending
        == Ending(
          status: 2, results: "",
          remarks: """
            flotilla: --ttl: "15" has no unit; write a number and ms, s, m, h or d, as in 500ms, \
            30s or 15m
              usage: flotilla invite DB [--ttl TIME] [--role ROLE] [--json]
              `flotilla invite --help` explains it

            """))
  }

  @Test func `prints help and version on standard output and exits with 0`() throws {
    let help = Ending(status: 0, results: Program.flotilla.help, remarks: "")
    #expect(try flotillaBlocking(["--help"]) == help)
    #expect(try flotillaBlocking(["help"]) == help)
    let version = Ending(status: 0, results: "flotilla 0.1.0\n", remarks: "")
    #expect(try flotillaBlocking(["--version"]) == version)
  }

  @Test func `runs nothing online without an anchor and exits with 1`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    _ = try flotillaBlocking(["init", "clinic.db"], in: folder)
    let ending = try flotillaBlocking(
      ["sql", "clinic.db", "SELECT 1", "--online", "--json"], in: folder)
    #expect(ending.status == 1)
    #expect(ending.results == "")
    #expect(ending.remarks.hasPrefix("flotilla: there is no anchor"))
  }

  @Test(arguments: [["run", "no such.db"], ["run", "no such.db", "--background"]])
  func `runs no node for a database that is not there`(words: [String]) throws {
    let folder = FileManager.default.temporaryDirectory
    let ending = try flotillaBlocking(words, in: folder)
    #expect(ending.status == 1)
    #expect(ending.remarks.hasPrefix("flotilla: there is no file no such.db\n  "))
  }
}
