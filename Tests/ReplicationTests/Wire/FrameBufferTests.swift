import Replication
import Testing

@Suite struct FrameBufferTests {
  @Test(arguments: [1, 2, 3, 7, 4_096, 1 << 20])
  func `frames come out whole, whatever pieces the bytes come in`(piece: Int) throws {
    var stream: [UInt8] = []
    for message in Samples.messages { stream += message.frame }
    var (buffer, read) = (FrameBuffer(limit: Limits.frame), [Message]())
    for start in stride(from: 0, to: stream.count, by: piece) {
      buffer.append(Array(stream[start..<min(start + piece, stream.count)]))
      while let frame = try buffer.next() { read.append(try Message(frame: frame)) }
    }
    #expect(read == Samples.messages)
  }

  @Test(
    arguments: [
      ([0, 0, 0, 0], .malformed), ([0xFF, 0xFF, 0xFF, 0xFF], .tooLong), ([0, 0, 16, 1], .tooLong),
      ([0, 16, 0, 0], .tooLong),
    ] as [([UInt8], WireError.Code)])
  func `before Hello a frame of 0, of 4 GiB and of more than 4 KiB is refused`(
    length: [UInt8], code: WireError.Code
  ) throws {
    var buffer = FrameBuffer()
    buffer.append(Array(length.dropLast()))
    #expect(try buffer.next() == nil)
    buffer.append([length[3]])
    for _ in 0..<2 {
      let error = #expect(throws: WireError.self) { try buffer.next() }
      #expect(error?.code == code)
    }
  }

  @Test func `says whether the next frame is whole`() throws {
    var buffer = FrameBuffer()
    #expect(!buffer.isReady)
    for byte in [0, 0, 0, 2, 7] as [UInt8] {
      buffer.append([byte])
      #expect(!buffer.isReady)
    }
    buffer.append([8, 0, 0, 0])
    #expect(buffer.isReady)
    #expect(try buffer.next() == [7, 8])
    #expect(!buffer.isReady)
    // One that is refused is none that is here.
    buffer.append([0])
    #expect(!buffer.isReady)
    var long = FrameBuffer(limit: 1)
    long.append([0, 0, 0, 2, 7, 8])
    #expect(!long.isReady)
  }

  @Test func `a frame at the limit is taken, before Hello and after`() throws {
    for limit in [Limits.greetingFrame, Limits.frame] {
      var buffer = FrameBuffer()
      buffer.limit = limit
      let content = Array(repeating: 7, count: limit) as [UInt8]
      let length = withUnsafeBytes(of: UInt32(limit).bigEndian) { Array($0) }
      buffer.append(length + content.dropLast())
      #expect(try buffer.next() == nil)
      buffer.append([7, 0, 0])
      #expect(try buffer.next() == content)
      #expect(try buffer.next() == nil)
    }
  }
}
