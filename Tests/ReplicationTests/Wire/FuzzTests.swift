import Replication
import Testing

@Suite struct FuzzTests {
  /// Reads a frame as a node would, batches included; what it takes must stay in proportion.
  private func read(_ frame: [UInt8]) -> Bool {
    guard let message = try? Message(frame: frame) else { return false }
    switch message {
    case .rows(_, let bytes): return (try? RowBatch(bytes: bytes)) != nil
    case .members(let members): return members.count <= frame.count
    default: return message.frame.count < 2 * frame.count + 1_024
    }
  }

  @Test func `random bytes never trap`() {
    var random = Seeded(11)
    for _ in 0..<50_000 {
      var frame = random.bytes(Int.random(in: 0...64, using: &random))
      if !frame.isEmpty { frame[0] = UInt8.random(in: 0...16, using: &random) }
      _ = read(frame)
    }
  }

  @Test func `mutated messages never trap, and what is read can be written`() {
    var random = Seeded(12)
    let bodies = Samples.messages.map(\.body).filter { $0.count < 4_000 }
    var readable = 0
    for _ in 0..<50_000 {
      var frame = bodies.randomElement(using: &random)!
      for _ in 0..<Int.random(in: 1...4, using: &random) where !frame.isEmpty {
        let index = frame.indices.randomElement(using: &random)!
        switch Int.random(in: 0..<5, using: &random) {
        case 0: frame[index] = UInt8.random(in: 0...255, using: &random)
        case 1: frame[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 2: frame.remove(at: index)
        case 3: frame.insert([0, 0x7F, 0x80, 0xFF].randomElement(using: &random)!, at: index)
        default: frame.removeLast(frame.count - index)
        }
      }
      if read(frame) { readable += 1 }
    }
    #expect(readable > 1_000)
  }
}
