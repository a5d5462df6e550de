import Foundation
import Testing

@testable import FlotillaCommand

@Suite("The log of a node in the background") struct LogRotationTests {
  /// Writes as a node does, in its log.
  private func say(_ text: String, in log: Int32) {
    LogRotation.rotate(log, most: 10)
    _ = write(log, text, text.utf8.count)
  }

  @Test func `goes on in a new file when it is long, and what is older lies beside it`() throws {
    let folder = NSTemporaryDirectory() + "log-\(UUID().uuidString)-flotilla"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/node.log"
    let log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    defer { close(log) }
    say("first line\n", in: log)
    say("second line\n", in: log)
    say("third line\n", in: log)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "third line\n")
    #expect(try String(contentsOfFile: path + ".old", encoding: .utf8) == "second line\n")
  }

  @Test func `goes on as it is where no new file can be made, until one can`() throws {
    let folder = NSTemporaryDirectory() + "log-\(UUID().uuidString)-flotilla"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/node.log"
    // What is in the way of the new file, which has another name first.
    try FileManager.default.createDirectory(
      atPath: path + ".new", withIntermediateDirectories: true)
    let log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    defer { close(log) }
    say("first line\n", in: log)
    say("second line\n", in: log)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "first line\nsecond line\n")
    rmdir(path + ".new")
    say("third line\n", in: log)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "third line\n")
    #expect(
      try String(contentsOfFile: path + ".old", encoding: .utf8) == "first line\nsecond line\n")
  }

  @Test func `is begun anew once, however many threads find it long`() throws {
    let folder = NSTemporaryDirectory() + "log-\(UUID().uuidString)-flotilla"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/node.log"
    let log = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    defer { close(log) }
    for number in 0..<200 {
      let text = "a line of the number \(number)\n"
      _ = write(log, text, text.utf8.count)
      DispatchQueue.concurrentPerform(iterations: 4) { _ in LogRotation.rotate(log, most: 10) }
      let old = try String(contentsOfFile: path + ".old", encoding: .utf8)
      #expect(old == text)
      guard old == text else { break }
    }
  }

  @Test func `another file is left alone`() throws {
    let path = NSTemporaryDirectory() + "log-\(UUID().uuidString)"
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    defer {
      close(file)
      unlink(path)
    }
    _ = write(file, "0123456789", 10)
    LogRotation.rotate(file, most: 5)
    _ = write(file, "0", 1)
    #expect(try String(contentsOfFile: path, encoding: .utf8).count == 11)
  }
}
