import Network
import Replication
import Testing

@testable import Flotilla

/// When frames are packed, and which.
@Suite struct LinkPaceTests {
  /// Writes pieces of so many bytes, each of which takes so many ms; gives what was thought before
  /// each.
  private func slow(_ pieces: [(bytes: Int, ms: Int64)], from start: Int64 = 0) -> [Bool] {
    var (pace, now) = (LinkPace(), start)
    return pieces.map { piece in
      defer {
        pace.note(piece.bytes, from: now, to: now + piece.ms)
        now += piece.ms
      }
      return pace.isSlow(at: now)
    }
  }

  @Test func `a connection is taken for slow until it has shown that it is not`() {
    let fast = slow(Array(repeating: (64 << 10, 1), count: 20))
    #expect(fast.prefix(4).allSatisfy { $0 } && fast.suffix(14).allSatisfy { !$0 })
  }

  @Test(arguments: [100, 1_000, 3_900]) func `a slow one stays so`(bytesEachMs: Int) {
    #expect(slow(Array(repeating: (bytesEachMs * 50, 50), count: 200)).allSatisfy { $0 })
  }

  @Test func `what the kernel takes at once does not hide for long that it is slow`() {
    let pieces = Array(repeating: (64 << 10, Int64(0)), count: 20) + [(64 << 10, 2_000)]
    #expect(slow(pieces + [(1, 0)]).suffix(2) == [false, true])
  }

  @Test func `after a rest nothing is known`() {
    var pace = LinkPace()
    for _ in 0..<20 { pace.note(64 << 10, from: 5, to: 5) }
    let slow = [pace.isSlow(at: 1_005), pace.isSlow(at: 1_006)]
    #expect(slow == [false, true])
  }

  private static func rows(_ count: Int) -> [UInt8] {
    Message.rows(number: 3, [UInt8](repeating: 7, count: count)).frame
  }

  @Test func `frames of rows are packed, and come out as they were`() throws {
    for message in [
      Message.rows(number: 3, [UInt8](repeating: 7, count: 1_000)),
      .part(number: 300, [UInt8](repeating: 7, count: Limits.piece)),
    ] {
      let packed = try #require(Packed.frame(of: message.frame))
      #expect(packed.count < 200)
      #expect(try Message(frame: Array(packed.dropFirst(4))).unpacked() == message)
    }
  }

  @Test func `what is short, dense or no rows stays as it is`() {
    let noise = (0..<5_000).map { _ in UInt8.random(in: 0 ... .max) }
    #expect(Packed.frame(of: Self.rows(400)) == nil)
    #expect(Packed.frame(of: Message.rows(number: 3, noise).frame) == nil)
    #expect(
      Packed.frame(
        of: Message.schema(
          SchemaObject(kind: .table, name: "t", sql: String(repeating: "a", count: 5_000))
        ).frame) == nil)
  }

  @Test func `nothing but rows may be packed, and nothing twice`() throws {
    let zeros = [UInt8](repeating: 0, count: 5_000)
    let bye = Message.bye(Bye(.other, String(repeating: "a", count: 250)))
    for (inner, code) in [
      (Array(Message.packed(Packed(size: 5_000, bytes: zeros)).frame.dropFirst(4)), .malformed),
      (Array(bye.frame.dropFirst(4)), .malformed), (zeros, .unknownType),
    ] as [([UInt8], WireError.Code)] {
      let bytes = try #require(Zstandard.pack(inner[...]))
      let message = Message.packed(Packed(size: inner.count, bytes: bytes))
      let error = #expect(throws: WireError.self) { try message.unpacked() }
      #expect(error?.code == code)
    }
  }

  @Test func `what waits is packed piece by piece`() throws {
    var outbox = Outbox(channel: Nowhere())
    let frame = Self.rows(100 << 10)
    for _ in 0..<7 { outbox.append(frame) }
    outbox.append(Message.describe.frame)
    let all = outbox.bytes
    let first = outbox.take(packs: true) ?? []
    #expect(!first.isEmpty && first.count < 3_000 && outbox.bytes == all - 3 * frame.count)
    let second = outbox.take(packs: true) ?? []
    let (third, none) = (outbox.take(packs: false), outbox.take(packs: true))
    #expect(third == frame + Message.describe.frame)
    #expect(outbox.bytes == 0 && none == nil)
    var frames = FrameBuffer(limit: Limits.frame)
    frames.append(first + second)
    var count = 0
    while let next = try frames.next() {
      #expect(try Message(frame: next).unpacked().frame == frame)
      count += 1
    }
    #expect(count == 6)
  }

  @Test func `a chunk of a copy is packed`() throws {
    let hash = [UInt8](repeating: 1, count: 32)
    let chunk = CopyMessage.chunk(
      number: 9, hash: hash, bytes: [UInt8](repeating: 0, count: CopyMessage.chunkBytes))
    let frame = chunk.packed.frame
    #expect(frame.count < 1_000)
    let read = try CopyMessage(frame: Array(frame.dropFirst(4)))
    #expect(read != chunk)
    #expect(try read.unpacked() == chunk)
    let short = CopyMessage.chunk(number: 9, hash: hash, bytes: [1])
    #expect(short.packed == short)
    #expect(CopyMessage.done.packed == .done)
  }

  private struct Nowhere: ByteChannel {
    var remote: Endpoint { try! Endpoint(parsing: "127.0.0.1:1") }
    func read(upTo limit: Int) async throws(NetworkError) -> [UInt8] { [] }
    func write(_ bytes: [UInt8]) async throws(NetworkError) {}
    func close() {}
  }
}
