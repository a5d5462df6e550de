import Foundation
import Network
import Replication
import Testing

@testable import Flotilla

@Suite("Invitations")
struct InvitationTests {
  private let clock = BootClock(boot: "today", uptime: 1_000)
  private let ward = Identity(high: 0, low: 1)
  private let desk = Identity(high: 0, low: 2)

  private func invitation(_ number: UInt8, deadline: Int64 = 2_000) -> Invitation {
    Invitation(
      identity: InvitationBook.digits([number]), secret: [number], hint: "0000\(number)",
      role: "writer", expires: 0, boot: "today", deadline: deadline, usedBy: nil)
  }

  @Test("derive from the code what the protocol's page says")
  func derivation() throws {
    let code = InviteCode(random: (0..<20).map { UInt8($0) })
    let secret = InvitationSecret(code)
    let text = try String(
      contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../docs/protocol.md").standardizedFileURL, encoding: .utf8)
    let identity = InvitationBook.digits(secret.identity).uppercased()
    #expect(text.contains("| identity of its invitation | `\(identity)` |"))
    #expect(text.contains("| its hint | `\(secret.hint)` |"))
    #expect(secret.secret.count == 32 && secret.secret != secret.identity + secret.identity)
  }

  @Test("are used once, by whoever comes first, who may ask again")
  func usedOnce() throws {
    var book = InvitationBook()
    try book.add(invitation(1), clock)
    #expect(book.use([2], by: ward, clock) == .unknown)
    #expect(book.use([1], by: ward, clock) == .admitted(role: .writer))
    #expect(book.use([1], by: desk, clock) == .used)
    #expect(book.use([1], by: ward, clock) == .admitted(role: .writer))
    #expect(book.open(clock).isEmpty)
    #expect(InvitationBook(try book.data) == book)
  }

  @Test("end by the time since the machine was started, and with it")
  func expiry() throws {
    var book = InvitationBook()
    try book.add(invitation(1), clock)
    #expect(book.open(BootClock(boot: "today", uptime: 1_999)).count == 1)
    #expect(book.open(BootClock(boot: "today", uptime: 2_000)).isEmpty)
    #expect(book.use([1], by: ward, BootClock(boot: "today", uptime: 2_000)) == .expired)
    #expect(book.use([1], by: ward, BootClock(boot: "tomorrow", uptime: 5)) == .expired)
  }

  @Test("are bounded; those that are of no use any more make room")
  func bounded() throws {
    var book = InvitationBook()
    for _ in 0..<InvitationBook.most { try book.add(invitation(1, deadline: 1_500), clock) }
    #expect(throws: FlotillaError.self) { try book.add(invitation(2), clock) }
    let later = BootClock(boot: "today", uptime: 1_600)
    try book.add(invitation(2), later)
    #expect(book.invitations.count == InvitationBook.most)
    #expect(book.open(later).map(\.identity) == ["02"])
  }

  @Test("of a damaged file are none")
  func damaged() {
    #expect(InvitationBook(Data("{\"invitations\":7}".utf8)).invitations.isEmpty)
    #expect(InvitationBook(nil).invitations.isEmpty)
  }

  @Test("are on the air as many as fit, the newest first")
  func onTheAir() throws {
    let hints = (0..<64).map { String(0x10000 + $0, radix: 16) }
    let text = Announcement.text(["v": "1", "s": "01234567"], hints: hints)
    let shown = [text["j"] ?? ""] + (text["k"] ?? "").split(separator: ",").map(String.init)
    #expect(shown.count > 12 && shown == Array(hints.prefix(shown.count)))
    #expect(Discovery.fits(text))
    #expect(Announcement.text(["v": "1"], hints: []) == ["v": "1"])
  }
}

extension NodeTests {
  @Suite struct `Of many open invitations` {
    @Test func `the newest are found, and their joiners look no further`() async throws {
      try await TestSite.with { site in
        let a = try await site.replica("a")
        let node = try await site.run(a)
        var hints: [String] = []
        for _ in 0..<12 {
          let code = try await a.library.invite(timeToLive: .seconds(60), role: "writer").code
          hints.append(InvitationSecret(try InviteCode(code)).hint)
        }
        let shown = await node.admissions.hints(besides: [], at: .now)
        #expect(shown == hints.reversed())
        let text = Announcement.text(["v": "1"], hints: shown)
        #expect(text["j"] == hints.last)
        #expect(text["k"]?.contains(hints[0]) == true)
      }
    }
  }
}
