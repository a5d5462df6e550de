import Replication
import Testing

@testable import Flotilla

/// What is read ahead of the work on it.
@Suite struct InboxTests {
  /// A frame of a length that the wire allows.
  private static let frame: [UInt8] = [0, 1, 0, 0] + [UInt8](repeating: 8, count: 1 << 16)

  @Test(arguments: [false, true])
  func `is full when the longest frame waits, of a member all that is merged in one go`(
    isMember: Bool
  ) throws {
    var inbox = Inbox()
    if isMember { inbox.acceptLongFrames() }
    let most = isMember ? Limits.gatheredBytes : Limits.frame
    var frames = 0
    while !inbox.isFull {
      inbox.append(Self.frame)
      frames += 1
    }
    #expect(frames * Self.frame.count > most + 4)
    #expect(frames * Self.frame.count < 2 * most)
    guard isMember else { return }
    #expect(inbox.isReady)
    #expect(try inbox.next()?.count == 1 << 16)
    #expect(!inbox.isFull)
    for _ in 1..<frames { #expect(try inbox.next() != nil) }
    #expect(try inbox.next() == nil)
  }

  @Test func `gives what has arrived before it tells the end`() throws {
    var inbox = Inbox()
    inbox.append([0, 0, 0, 1, 7])
    inbox.finish("cut")
    inbox.finish("cut again")
    #expect(try inbox.next() == [7])
    #expect(inbox.end == "cut")
  }

  @Test func `of a stranger takes short frames only`() throws {
    var inbox = Inbox()
    inbox.append(Self.frame)
    #expect(throws: WireError.self) { try inbox.next() }
    inbox.clear()
    #expect(try inbox.next() == nil)
  }
}
