import Replication
import Testing

@Suite struct MessageTests {
  @Test(arguments: Samples.messages)
  func `a message arrives as it was sent`(message: Message) throws {
    #expect(try Message(frame: message.body) == message)
    let frame = message.frame
    #expect(frame.prefix(4).reduce(0) { $0 << 8 | Int($1) } == frame.count - 4)
  }

  /// What follows the number of Rows and Part is a batch, tested with `RowBatch`.
  @Test(arguments: Samples.messages)
  func `a message that ends early or late is refused`(message: Message) {
    switch message {
    case .rows, .part: return
    default: break
    }
    let body = message.body
    for count in 0..<body.count {
      #expect(throws: WireError.self) { try Message(frame: Array(body.prefix(count))) }
    }
    #expect(throws: WireError.self) { try Message(frame: body + [0]) }
  }

  @Test(arguments: [0, 19, 99, 255] as [UInt8])
  func `an unknown type is refused`(type: UInt8) {
    let error = #expect(throws: WireError.self) { try Message(frame: [type, 0, 0]) }
    #expect(error?.code == .unknownType)
  }

  /// Bodies by hand, from the type on.
  static func bytes(_ type: UInt8, _ write: (inout ByteWriter) -> Void) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(type)
    write(&writer)
    return writer.bytes
  }

  static func frontier(_ entries: [(UInt64, UInt64)]) -> [UInt8] {
    bytes(3) {
      $0.byte(0)
      $0.uint(0)
      $0.uint(1)
      $0.uint(entries.count)
      for (origin, seq) in entries {
        $0.word(origin)
        $0.uint(seq)
      }
    }
  }

  @Test(
    arguments: [
      [(2, 1), (1, 1)], [(1, 1), (1, 2)], [(1, 0)], [(1, (1 << 62) + 1)], [(1, .max)],
    ] as [[(UInt64, UInt64)]])
  func `a frontier must ascend, its seqs in range`(entries: [(UInt64, UInt64)]) {
    let error = #expect(throws: WireError.self) {
      try Message(frame: Self.frontier(entries))
    }
    #expect(error?.code == .malformed)
  }

  @Test(
    arguments: [
      ("a frontier", 3, [0, 0, 1], 16_385), ("members", 9, [], 1_025),
      ("a name", 11, [], 513), ("a reason", 14, [0], 1_025), ("SQL", 13, [0, 0], (512 << 10) + 1),
    ] as [(String, UInt8, [UInt8], UInt64)])
  func `a count beyond its limit is refused before memory is taken`(
    what: String, type: UInt8, start: [UInt8], count: UInt64
  ) {
    for (count, code) in [(count, WireError.Code.tooLong), (.max, .tooLong), (9, .truncated)] {
      let frame = Self.bytes(type) {
        $0.raw(start)
        $0.uint(count)
      }
      let error = #expect(throws: WireError.self) { try Message(frame: frame) }
      #expect(error?.code == code, "\(what) \(count)")
    }
  }

  @Test func `wrong fields are refused`() {
    let wrong: [[UInt8]] = [
      Self.bytes(1) { $0.raw(Array("HTTP".utf8)) },
      Self.bytes(2) {
        $0.byte(4)
        for _ in 0..<18 { $0.byte(0) }
      },
      Self.bytes(3) {
        $0.byte(3)
        $0.uint(0)
        $0.uint(0)
      },
      Self.bytes(13) {
        $0.byte(4)
        $0.uint(0)
        $0.uint(0)
      },
      // Testimony of no edit.
      Self.bytes(2) {
        $0.byte(2)
        $0.uint(0)
        $0.word(1)
        $0.word(2)
        $0.uint(0)
        $0.word(3)
        $0.uint(0)
        $0.word(4)
      },
      // Names with NUL, and with what is no UTF-8.
      Self.bytes(11) { $0.raw([1, 0, 0]) }, Self.bytes(11) { $0.raw([1, 0xFF, 0]) },
      Self.bytes(11) { $0.raw([3, 0xED, 0xA0, 0x80, 0]) },
      // Integers of more than 64 bits.
      Self.bytes(7) { $0.raw(Array(repeating: 0xFF, count: 9) + [2]) },
      Self.bytes(7) { $0.raw(Array(repeating: 0x80, count: 10) + [0]) },
      // Clocks that no machine has: differences would overflow.
      Self.bytes(7) { $0.int(.min) }, Self.bytes(7) { $0.int(Limits.clock + 1) },
      Self.bytes(8) {
        $0.int(0)
        $0.int(-Limits.clock - 1)
      },
      Self.bytes(8) {
        $0.int(.max)
        $0.int(0)
      },
    ]
    for frame in wrong {
      let error = #expect(throws: WireError.self, "\(frame)") { try Message(frame: frame) }
      #expect(error?.code == .malformed, "\(frame)")
    }
  }

  @Test(arguments: [(0, 0), (5, 5), (6, 5), (0, (1 << 62) + 1), (.max, 1)] as [(UInt64, UInt64)])
  func `a push must be a range`(from: UInt64, to: UInt64) {
    let frame = Self.bytes(3) {
      $0.byte(1)
      $0.uint(0)
      $0.uint(1)
      $0.word(9)
      $0.uint(from)
      $0.uint(to)
    }
    #expect(throws: WireError.self) { try Message(frame: frame) }
  }

  @Test(arguments: [0, -1, 1, 63, 64, -64, -65, .min, .max] as [Int64])
  func `integers survive at every length`(integer: Int64) throws {
    var writer = ByteWriter()
    writer.int(integer)
    writer.uint(UInt64(bitPattern: integer))
    var reader = ByteReader(writer.bytes)
    #expect(try reader.int("it") == integer)
    #expect(try reader.uint("it") == UInt64(bitPattern: integer))
    #expect(reader.isAtEnd)
  }

  @Test func `a port beyond 65535 and an unknown purpose are refused`() {
    let body = Message.hello(Samples.hello(name: "", clock: 0, port: 0x3FFF)).body
    // Its last fields are the port, here of two bytes, three words, and what it knows of time.
    var wrong = body
    wrong[6] = 2
    #expect(throws: WireError.self) { try Message(frame: wrong) }
    wrong = Array(body[..<(body.count - 27)]) + [0x80, 0x80, 0x04] + body.suffix(25)
    #expect(throws: WireError.self) { try Message(frame: wrong) }
  }

  @Test func `the largest messages that a node may make fit a frame`() throws {
    let seqs = (0..<UInt64(Limits.frontierEntries)).map { (Origin(rawValue: ~$0), UInt64(1) << 62) }
    let most = Frontier(Dictionary(uniqueKeysWithValues: seqs))
    let have = Message.have(
      Have(frontier: most, frontierHash: 1, rootDigest: 2, resume: most, asks: true))
    #expect(try Message(frame: have.body) == have)
    let address = String(repeating: "a", count: Limits.name)
    let member = Member(
      node: Samples.node, name: address, addresses: Array(repeating: address, count: 20))
    let members = Message.members(Array(repeating: member, count: 2_000))
    #expect(members.frame.count > Limits.frame - 10_000)
    guard case .members(let read) = try Message(frame: members.body) else {
      Issue.record("not members")
      return
    }
    #expect(read.allSatisfy { $0.addresses.count == Limits.addresses })
  }

  @Test func `a long reason is cut, whatever it is made of`() throws {
    let cluster = "e" + String(repeating: "\u{301}", count: 400)
    for reason in [cluster + cluster + cluster, String(repeating: "漢", count: 2_000)] {
      guard case .bye(let bye) = try Message(frame: Message.bye(Bye(.other, reason)).body) else {
        Issue.record("not a Bye")
        return
      }
      #expect(reason.unicodeScalars.starts(with: bye.reason.unicodeScalars))
      #expect(!bye.reason.isEmpty)
    }
  }
}
