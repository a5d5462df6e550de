import Replication
import Testing

@Suite struct MessageTests {
  @Test(arguments: Samples.messages)
  func `a message arrives as it was sent`(message: Message) throws {
    #expect(try Message(frame: message.body) == message)
    let frame = message.frame
    #expect(frame.prefix(4).reduce(0) { $0 << 8 | Int($1) } == frame.count - 4)
  }

  /// What follows the number of Rows and Part is a batch, tested with `RowBatch`. A packed frame is
  /// looked at when it is unpacked.
  @Test(arguments: Samples.messages)
  func `a message that ends early or late is refused`(message: Message) {
    switch message {
    case .rows, .part, .packed: return
    default: break
    }
    let body = message.body
    for count in 0..<body.count {
      #expect(throws: WireError.self) { try Message(frame: Array(body.prefix(count))) }
    }
    #expect(throws: WireError.self) { try Message(frame: body + [0]) }
  }

  @Test(arguments: [0, 28, 99, 255] as [UInt8])
  func `an unknown type is refused`(type: UInt8) {
    let error = #expect(throws: WireError.self) { try Message(frame: [type, 0, 0]) }
    #expect(error?.code == .unknownType)
  }

  @Test(arguments: [UInt64(Limits.frame) + 1, 1 << 32, .max])
  func `a packed frame that claims more than a plain one may have is refused`(size: UInt64) {
    let error = #expect(throws: WireError.self) {
      try Message(frame: Self.bytes(27) { $0.uint(size) } + [1, 2, 3])
    }
    #expect(error?.code == .tooLong)
  }

  /// Bodies by hand, from the type on.
  static func bytes(_ type: UInt8, _ write: (inout ByteWriter) -> Void) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(type)
    write(&writer)
    return writer.bytes
  }

  static func reach(to seq: UInt64) -> [UInt8] {
    Array(
      bytes(0) {
        for word in 1...4 as ClosedRange<UInt64> { $0.word(word) }
        $0.uint(seq)
        $0.word(5)
        $0.raw(Array(repeating: 6, count: 64))
      }.dropFirst())
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
      ("buckets", 20, [1], 257),
      ("tables of an account", 21, [1, 1], 2_049),
      ("rows of an account", 21, [1, 1, 1, 1, 0x74], 65_537),
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
        $0.byte(6)
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
        $0.raw(Self.reach(to: 0))
      },
      Self.bytes(23) {
        $0.uint(0)
        $0.uint(1)
        $0.raw(Self.reach(to: 0))
      },
      Self.bytes(23) {
        $0.uint(0)
        $0.uint(1)
        $0.raw(Self.reach(to: (1 << 62) + 1))
      },
      // No reach at all.
      Self.bytes(23) {
        $0.uint(0)
        $0.uint(0)
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

  /// An account of rows: of each table the name and, of each row, its bytes.
  static func account(_ tables: [(String, [[UInt8]])]) -> [UInt8] {
    bytes(21) {
      $0.raw([1, 2])
      $0.uint(tables.count)
      for (name, rows) in tables {
        $0.text(name)
        $0.uint(rows.count)
        for row in rows { $0.raw(row) }
      }
    }
  }

  /// A row that stands and has no version.
  static func row(_ key: UInt8, hash: UInt8 = 1) -> [UInt8] {
    [1, key, 2, 0, 0, 0, 0, 0, 0, 0, hash]
  }

  @Test func `an account in order is read`() throws {
    let frame = Self.account([("a", [Self.row(1), Self.row(2)]), ("B", [Self.row(1)])])
    guard case .account(let account) = try Message(frame: frame),
      case .rows(let rows, isLast: true) = account.content
    else {
      Issue.record("no account")
      return
    }
    #expect(rows.map(\.table) == ["a", "a", "B"])
  }

  @Test func `a question or an account out of order is refused`() {
    let version: [UInt8] = [1, 1, 0] + [UInt8](repeating: 0, count: 8)
    let wrong: [[UInt8]] = [
      [20, 1, 2, 4, 4], [20, 1, 2, 4, 3], [21, 1, 4], [21, 1, 3, 2],
      // Tables and rows that do not follow, or come twice; a table without rows.
      Self.account([("b", [Self.row(1)]), ("A", [Self.row(1)])]),
      Self.account([("a", [Self.row(1)]), ("A", [Self.row(2)])]),
      Self.account([("a", [Self.row(2), Self.row(1)])]),
      Self.account([("a", [Self.row(1), Self.row(1)])]), Self.account([("a", [])]),
      // Content without a hash, an unknown state, seq 0, a seq and a stamp beyond their ends.
      Self.account([("a", [Self.row(1, hash: 0)])]), Self.account([("a", [[1, 1, 5]])]),
      Self.account([("a", [version + [0, 1] + [UInt8](repeating: 1, count: 8)])]),
      Self.account([("a", [version + [UInt8](repeating: 0xFF, count: 9) + [1, 1]])]),
      Self.account([("a", [version + [1] + [UInt8](repeating: 0xFF, count: 9) + [1]])]),
    ]
    for frame in wrong {
      let error = #expect(throws: WireError.self, "\(frame)") { try Message(frame: frame) }
      #expect(error?.code == .malformed, "\(frame)")
    }
  }

  @Test func `a key that is longer than may be asked for is refused`() throws {
    var writer = ByteWriter()
    writer.blob([UInt8](repeating: 1, count: Limits.wantedKey))
    writer.raw([2] + [UInt8](repeating: 1, count: 8))
    let longest = Self.account([("a", [writer.bytes])])
    #expect(try Message(frame: longest).frame.count <= Limits.frame + 4)
    var tooLong = ByteWriter()
    tooLong.blob([UInt8](repeating: 1, count: Limits.wantedKey + 1))
    #expect(throws: WireError.self) {
      try Message(frame: Self.account([("a", [tooLong.bytes + writer.bytes.suffix(9)])]))
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
