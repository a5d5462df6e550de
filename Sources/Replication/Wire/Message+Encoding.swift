/// The number of each message type on the wire.
enum MessageType: UInt8 {
  case hello = 1
  case have = 2
  case begin = 3
  case rows = 4
  case part = 5
  case end = 6
  case ping = 7
  case pong = 8
  case members = 9
  case buckets = 10
  case join = 11
  case admit = 12
  case schema = 13
  case bye = 14
  case pause = 15
  case statements = 16
  case offer = 17
  case want = 18
  case stability = 19
  case inspect = 20
  case account = 21
  case describe = 22
  case reaches = 23
  case program = 24
  case knock = 25
  case knocked = 26
  case packed = 27
}

extension Message {
  /// "FLOT": the first bytes of a Hello, so that another program on the port is noticed at once.
  static let magic: [UInt8] = [0x46, 0x4C, 0x4F, 0x54]

  /// The whole frame: length, type, body.
  ///
  /// What was taken in is bounded so that it fits; who sends looks at `isSendable` all the same,
  /// for no peer and no file ends a node.
  package var frame: [UInt8] {
    var frame = ByteWriter(capacity: 64)
    frame.raw([0, 0, 0, 0, 0])
    let type = write(to: &frame)
    let length = UInt32(truncatingIfNeeded: frame.bytes.count - 4)
    for index in 0..<4 { frame.set(index, to: UInt8(length >> (24 - 8 * index) & 0xFF)) }
    frame.set(4, to: type.rawValue)
    return frame.bytes
  }

  /// Whether a peer would read a frame of that length.
  package static func isSendable(_ frame: [UInt8]) -> Bool { frame.count - 4 <= Limits.frame }

  private func write(to body: inout ByteWriter) -> MessageType {
    switch self {
    case .hello(let hello):
      hello.write(to: &body)
      return .hello
    case .have(let have):
      have.write(to: &body)
      return .have
    case .begin(let begin):
      begin.write(to: &body)
      return .begin
    case .rows(let number, let bytes):
      body.uint(number)
      body.raw(bytes)
      return .rows
    case .part(let number, let bytes):
      body.uint(number)
      body.raw(bytes)
      return .part
    case .packed(let packed):
      packed.write(to: &body)
      return .packed
    case .end(let end):
      body.uint(end.rows)
      body.word(end.check)
      return .end
    case .ping(let sent, let view):
      body.int(sent)
      body.int(view.wall)
      view.write(to: &body)
      return .ping
    case .pong(let echo, let view):
      body.int(echo)
      body.int(view.wall)
      view.write(to: &body)
      return .pong
    default: return writeRest(to: &body)
    }
  }

  private func writeRest(to body: inout ByteWriter) -> MessageType {
    switch self {
    case .members(let members):
      let fitting = Member.fitting(members)
      body.uint(fitting.count)
      for member in fitting { member.write(to: &body) }
      return .members
    case .statements(let statements):
      body.raw(SignedStatement.encode(statements))
      return .statements
    case .buckets(let buckets):
      body.word(buckets.frontierHash)
      for bucket in buckets.digest.buckets { body.word(bucket) }
      return .buckets
    case .stability(let news):
      news.write(to: &body)
      return .stability
    case .inspect(let inspect):
      inspect.write(to: &body)
      return .inspect
    case .account(let account):
      account.write(to: &body)
      return .account
    case .describe: return .describe
    case .reaches(let number, let reaches):
      body.uint(number)
      body.uint(reaches.count)
      for reach in reaches { reach.write(to: &body) }
      return .reaches
    case .want(let names):
      body.uint(names.count)
      for name in names {
        body.text(name.table)
        body.blob(name.key)
      }
      return .want
    case .offer(let offer):
      body.text(offer.siteName)
      body.uint(offer.rows)
      body.uint(offer.objects)
      return .offer
    case .join(let join):
      body.text(join.name)
      body.raw(join.key)
      body.raw(join.proof)
      return .join
    case .admit(let admit):
      admit.write(to: &body)
      return .admit
    case .schema(let object):
      body.byte(object.kind.rawValue)
      body.text(object.name)
      if object.kind.hasSQL { body.text(object.sql) } else { object.writeFields(to: &body) }
      return .schema
    case .pause(let end):
      body.uint(end.rows)
      body.word(end.check)
      return .pause
    case .bye(let bye):
      body.uint(bye.code.rawValue)
      // By scalars, of at most four bytes: one Character may be of any length.
      body.text(String(bye.reason.unicodeScalars.prefix(Limits.reason / 4)))
      return .bye
    default: return writeKnocking(to: &body)
    }
  }
}

extension Hello {
  func write(to body: inout ByteWriter) {
    body.raw(Message.magic)
    body.uint(version)
    body.byte(purpose.rawValue)
    body.identity(site)
    body.identity(node)
    body.text(name)
    body.word(run)
    body.int(clock)
    body.uint(UInt64(port))
    body.word(schema)
    body.word(statements)
    body.word(life)
    view.write(to: &body)
    standing.write(to: &body)
    body.uint(keys.count)
    for key in keys {
      body.word(key.table)
      body.word(key.key)
    }
  }
}

extension Have {
  func write(to body: inout ByteWriter) {
    body.byte((asks ? 1 : 0) | (testimony == nil ? 0 : 2))
    body.frontier(frontier)
    body.word(frontierHash)
    body.word(rootDigest)
    body.frontier(resume)
    testimony?.write(to: &body)
  }
}

extension Begin {
  func write(to body: inout ByteWriter) {
    switch kind {
    case .full(let covers):
      body.byte(0)
      body.uint(number)
      body.uint(rows)
      body.frontier(covers)
    case .push(let origin, let from, let to):
      body.byte(1)
      body.uint(number)
      body.uint(rows)
      body.word(origin.rawValue)
      body.uint(from)
      body.uint(to)
    case .repair:
      body.byte(2)
      body.uint(number)
      body.uint(rows)
    }
    guard let judged, judged.term.number > 0 else { return body.uint(0) }
    body.term(judged.term)
    body.frontier(judged.frontier)
  }
}

extension Member {
  func write(to body: inout ByteWriter) {
    body.identity(node)
    body.text(name)
    let addresses = addresses.prefix(Limits.addresses)
    body.uint(addresses.count)
    for address in addresses { body.text(address) }
    let lives = lives.prefix(Limits.lives)
    body.uint(lives.count)
    for life in lives { body.word(life) }
  }

  /// As many as one frame takes; addresses are hints, so the rest may stay away.
  fileprivate static func fitting(_ members: [Member]) -> ArraySlice<Member> {
    var room = Limits.frame - 16
    return members.prefix(Limits.members).prefix { member in
      let lives = 8 * min(member.lives.count, Limits.lives)
      room -= member.addresses.prefix(Limits.addresses).reduce(22 + member.name.utf8.count + lives)
      {
        $0 + $1.utf8.count + 2
      }
      return room >= 0
    }
  }
}

extension Admit {
  func write(to body: inout ByteWriter) {
    body.raw(rootKey)
    body.text(nodeName)
    body.raw(SignedStatement.encode(statements))
  }
}
