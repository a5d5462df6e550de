import Replication
import Testing

@testable import Flotilla

/// Who may show an invitation once more.
@Suite struct AdmissionsTests {
  private static let clock = BootClock(boot: "boot", uptime: 1_000)

  private func invitation(usedBy user: Identity?) -> Invitation {
    Invitation(
      identity: "0102", secret: [], hint: "", role: "writer", expires: 0, boot: "boot",
      deadline: 5_000, usedBy: user?.description)
  }

  @Test func `the answer that was lost is given again, until the joiner has come`() throws {
    let (joiner, other) = (Identity(high: 1, low: 2), Identity(high: 3, low: 4))
    func verdict(
      _ user: Identity?, by node: Identity, hasCome: Bool = false, _ shown: [UInt8] = [1, 2],
      at clock: BootClock = Self.clock
    ) throws -> InvitationBook.Verdict? {
      var book = InvitationBook()
      try book.add(invitation(usedBy: user), Self.clock)
      return book.objection(to: shown, by: node, hasCome: hasCome, at: clock)
    }
    #expect(try verdict(nil, by: joiner) == nil)
    #expect(try verdict(joiner, by: joiner) == nil)
    #expect(try verdict(joiner, by: other) == .used)
    // Nothing of the schema goes to who only says that it is that one.
    #expect(try verdict(joiner, by: joiner, hasCome: true) == .used)
    #expect(try verdict(nil, by: joiner, [9]) == .unknown)
    let late = BootClock(boot: "boot", uptime: 5_000)
    #expect(try verdict(nil, by: joiner, at: late) == .expired)
  }
}
