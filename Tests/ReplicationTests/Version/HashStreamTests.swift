import Testing

@testable import Replication

@Suite struct HashStreamTests {
  @Test func `bytes in pieces have the hash of the whole`() {
    for count in 0..<70 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 200) }
      for cut in 0...count {
        var stream = HashStream(count: count, isText: true)
        stream.add(bytes[..<cut])
        stream.add(bytes[cut...])
        #expect(stream.value == ContentHash.content(.text(bytes)))
      }
    }
  }
}
