import Network
import Replication
import Testing

@testable import Flotilla

/// What a joiner takes of a copy by pages, and what it does not.
@Suite struct PageReceiverTests {
  static let copy = Identity(high: 1, low: 2)
  static let size = UInt64(CopyMessage.chunkBytes)

  static func head(
    bytes: UInt64 = 2 * size + 4_096, first: UInt64 = 0, copy: Identity = copy, format: UInt64 = 3,
    page: UInt64 = 4_096
  ) -> CopyMessage {
    .head(
      CopyMessage.Head(copy: copy, format: format, pageSize: page, bytes: bytes, first: first))
  }

  static func chunk(_ number: UInt64, _ length: Int = CopyMessage.chunkBytes) -> CopyMessage {
    let bytes = [UInt8](repeating: UInt8(number & 0xFF), count: length)
    return .chunk(number: number, hash: Hashing.sha256(bytes), bytes: bytes)
  }

  static func hash(_ message: CopyMessage) -> [UInt8] {
    if case .chunk(_, let hash, _) = message { hash } else { [] }
  }

  static var end: CopyMessage {
    .end(check: PageReceiver.check([chunk(0), chunk(1), chunk(2, 4_096)].map(hash)))
  }

  private func receiver(_ messages: [CopyMessage] = []) throws -> PageReceiver {
    var receiver = PageReceiver(format: 3, room: 1 << 30)
    for message in messages { _ = try receiver.receive(message) }
    return receiver
  }

  @Test func `all chunks in their order make a file`() throws {
    var receiver = try receiver([.making(bytes: 0)])
    #expect(try receiver.receive(Self.head()) == .begin(Self.copy, keeping: 0))
    for (number, length) in [(0, CopyMessage.chunkBytes), (1, CopyMessage.chunkBytes), (2, 4_096)] {
      let step = try receiver.receive(Self.chunk(UInt64(number), length))
      #expect(step == .write([UInt8](repeating: UInt8(number), count: length)))
    }
    #expect(try receiver.receive(Self.end) == .whole)
  }

  @Test func `what was begun goes on where it stopped, or from the start`() throws {
    let begun = PageReceiver.Begun(
      copy: Self.copy, hashes: [Self.hash(Self.chunk(0)), Self.hash(Self.chunk(1))])
    var receiver = PageReceiver(format: 3, room: 1 << 30, begun: begun)
    let check = PageReceiver.check(begun.hashes)
    #expect(
      receiver.ask == .ask(CopyMessage.Ask(format: 3, copy: Self.copy, chunks: 2, check: check)))
    let kept = 2 * CopyMessage.chunkBytes
    #expect(try receiver.receive(Self.head(first: 2)) == .begin(Self.copy, keeping: kept))
    _ = try receiver.receive(Self.chunk(2, 4_096))
    #expect(try receiver.receive(Self.end) == .whole)
    receiver = PageReceiver(format: 3, room: 1 << 30, begun: begun)
    let other = Identity(high: 5, low: 5)
    #expect(try receiver.receive(Self.head(copy: other)) == .begin(other, keeping: 0))
    for wrong in [
      Self.head(first: 1), Self.head(first: 3), Self.head(first: 2, copy: other),
      Self.head(bytes: 4_096, first: 2),
    ] {
      receiver = PageReceiver(format: 3, room: 1 << 30, begun: begun)
      #expect(throws: WireError.self) { try receiver.receive(wrong) }
    }
  }

  @Test(arguments: [
    head(bytes: 0), head(bytes: 4_097), head(bytes: 1 << 40), head(bytes: 1 << 62),
    head(first: 1), head(copy: .none), head(format: 4), head(page: 512), chunk(0), end, .done,
    .ask(CopyMessage.Ask(format: 3)),
  ])
  func `no copy begins with this`(_ message: CopyMessage) throws {
    var receiver = try receiver()
    #expect(throws: WireError.self) { try receiver.receive(message) }
  }

  @Test(arguments: [
    chunk(1), chunk(0), chunk(2), chunk(.max >> 2), chunk(1, 4_096), chunk(1, 0), end, head(),
    .making(bytes: 1), .done, .chunk(number: 1, hash: hash(chunk(0)), bytes: []),
    .chunk(
      number: 1, hash: hash(chunk(0)), bytes: [UInt8](repeating: 1, count: CopyMessage.chunkBytes)),
  ])
  func `after one chunk only the next follows`(_ message: CopyMessage) throws {
    var receiver = try receiver([Self.head(), Self.chunk(0)])
    if message == Self.chunk(1) {
      #expect(throws: Never.self) { try receiver.receive(message) }
    } else {
      #expect(throws: WireError.self) { try receiver.receive(message) }
    }
  }

  @Test func `the end must be that of these chunks`() throws {
    let all = [Self.head(), Self.chunk(0), Self.chunk(1), Self.chunk(2, 4_096)]
    for wrong in [.end(check: CopyMessage.noCheck), Self.chunk(3, 4_096), .done] as [CopyMessage] {
      var receiver = try receiver(all)
      #expect(throws: WireError.self) { try receiver.receive(wrong) }
    }
    var receiver = try receiver(all + [Self.end])
    #expect(throws: WireError.self) { try receiver.receive(Self.end) }
  }
}
