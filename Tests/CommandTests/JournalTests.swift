import Flotilla
import Foundation
import Testing

@testable import FlotillaCommand

/// A socket that stands for the journal of systemd.
private struct StandIn {
  let path: String
  private let descriptor: Int32

  init(in folder: Folder) throws {
    path = folder.url.path + "/journal"
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    var place = sockaddr_un()
    place.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let bound = withUnsafePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0)
  }

  func end() { close(descriptor) }

  /// What came, one text for each datagram.
  func heard() -> [String] {
    var said: [String] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      guard count > 0 else { return said }
      said.append(String(decoding: buffer.prefix(count), as: UTF8.self))
    }
  }
}

/// What an output was told, in the order in which that was.
private final class Remarks: @unchecked Sendable {
  // Only this test's own thread writes and reads.
  var texts: [String] = []
  var output: Output { Output(results: { _ in }, remarks: { self.texts.append($0) }) }
}

@Suite struct `The journal` {
  private static let entry = LogEntry(
    "exchange with b fails: no\u{1b}[1m", .warning, database: "/srv/a.db", peer: "b")

  @Test func `has the database and the peer of a line as fields, and no date of ours`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let journal = try StandIn(in: folder)
    defer { journal.end() }
    let remarks = Remarks()
    let log = NodeLog(.text, remarks.output, isJournal: true, socket: journal.path)
    log.write(Self.entry)
    log.write(LogEntry("stopped"))
    #expect(
      journal.heard() == [
        """
        MESSAGE=\(printable(Self.entry.text))
        PRIORITY=4
        SYSLOG_IDENTIFIER=flotilla
        FLOTILLA_DATABASE=/srv/a.db
        FLOTILLA_PEER=b

        """, "MESSAGE=stopped\nPRIORITY=6\nSYSLOG_IDENTIFIER=flotilla\n",
      ])
    #expect(remarks.texts.isEmpty)
  }

  @Test func `cannot be told a field by a path that holds a line end`() {
    let bytes = JournalSocket.datagram([("A", "x"), ("B", "y\nPRIORITY=0")])
    let length: [UInt8] = [12, 0, 0, 0, 0, 0, 0, 0]
    #expect(bytes == Array("A=x\nB\n".utf8) + length + Array("y\nPRIORITY=0\n".utf8))
  }

  @Test func `is not used where standard error leads elsewhere, or JSON is wanted`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let journal = try StandIn(in: folder)
    defer { journal.end() }
    let remarks = Remarks()
    NodeLog(.text, remarks.output, isJournal: false, socket: journal.path).write(Self.entry)
    NodeLog(.json, remarks.output, isJournal: true, socket: journal.path).write(Self.entry)
    #expect(journal.heard().isEmpty)
    #expect(remarks.texts.count == 2)
    #expect(remarks.texts[1].hasPrefix(#"{"database":"/srv/a.db","message":"exchange with b"#))
    #expect(remarks.texts[1].contains(#""peer":"b","time":""#))
  }

  @Test func `that does not listen leaves the line on standard error`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let remarks = Remarks()
    let log = NodeLog(.text, remarks.output, isJournal: true, socket: folder.url.path + "/none")
    log.write(Self.entry)
    #expect(remarks.texts == [printable(Self.entry.text) + "\n"])
    let long = String(repeating: "x", count: 200)
    NodeLog(.text, remarks.output, isJournal: true, socket: "/" + long).write(Self.entry)
    #expect(remarks.texts.count == 2)
  }

  @Test func `of a node that systemd runs is in the bundle for a helper`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let root = folder.url.resolvingSymlinksInPath().path
    try folder.flotilla("init", "a.db")
    let manager = try Systemd(root: root)
    let path = root + "/a.db"
    #expect(JournalExcerpt(of: path, manager: manager) == nil)
    let unit = try ServiceUnit(of: path, within: root)
    try manager.write(unit)
    func content(_ text: String, _ status: Int32) throws -> String {
      let excerpt = JournalExcerpt(of: path, manager: manager) { words in
        #expect(words.first == "journalctl" && words.contains("--unit=flotilla@a.db.service"))
        #expect(words.contains("FLOTILLA_DATABASE=/a.db"))
        return (text, status)
      }
      return try #require(excerpt).content(most: 40).description
    }
    #expect(try content("one\ntwo", 0) == #"["one","two"]"#)
    let long = (1...20).map { "line \($0)" }.joined(separator: "\n")
    #expect(try content(long, 0) == #"["line 17","line 18","line 19","line 20"]"#)
    for (text, status) in [("", Int32(0)), ("No journal files were opened", 1)] {
      let said = try content(text, status)
      #expect(said.contains(#""remedy":"sudo journalctl --quiet"#), "\(said)")
      #expect(said.contains(text.isEmpty ? "is shown no line of" : text))
    }
  }
}
