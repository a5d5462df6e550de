extension Message {
  /// Reads the type and body of one frame (what follows the length).
  package init(frame: [UInt8]) throws(WireError) {
    var reader = ByteReader(frame)
    let number = try reader.byte("a frame")
    guard let type = MessageType(rawValue: number) else {
      throw WireError(.unknownType, String(number))
    }
    switch type {
    case .rows:
      self = .rows(number: try reader.uint("Rows"), reader.rest())
      return
    case .part:
      self = .part(number: try reader.uint("Part"), reader.rest())
      return
    case .packed:
      self = .packed(try Packed(from: &reader, "a packed frame", limit: Limits.frame))
    case .reaches:
      self = .reaches(number: try reader.uint("Reaches"), try Reach.list(from: &reader))
    case .hello: self = .hello(try Hello(from: &reader))
    case .have: self = .have(try Have(from: &reader))
    case .begin: self = .begin(try Begin(from: &reader))
    case .end:
      self = .end(End(rows: try reader.uint("End"), check: try reader.word("End")))
    case .pause:
      self = .pause(End(rows: try reader.uint("Pause"), check: try reader.word("Pause")))
    case .ping:
      self = .ping(
        sent: try reader.clock("Ping"),
        try ClockView(wall: try reader.clock("Ping"), from: &reader))
    case .pong:
      self = .pong(
        echo: try reader.clock("Pong"),
        try ClockView(wall: try reader.clock("Pong"), from: &reader))
    case .members: self = .members(try Member.list(from: &reader))
    case .statements:
      self = .statements(
        try SignedStatement.decode(&reader, most: Limits.statementsPerFrame))
    case .buckets: self = .buckets(try Buckets(from: &reader))
    case .stability: self = .stability(try StabilityNews(from: &reader))
    case .join:
      self = .join(try Join(from: &reader))
    case .inspect: self = .inspect(try Inspect(from: &reader))
    case .account: self = .account(try Account(from: &reader))
    case .describe: self = .describe
    case .program: self = .program(try ProgramName.read(&reader))
    case .knock: self = .knock
    case .knocked: self = .knocked(try Knocked(from: &reader))
    case .want: self = .want(try RowName.list(from: &reader))
    case .offer: self = .offer(try Offer(from: &reader))
    case .admit: self = .admit(try Admit(from: &reader))
    case .schema: self = .schema(try SchemaObject(from: &reader))
    case .bye:
      let code = Bye.Code(rawValue: try reader.uint("Bye"))
      self = .bye(Bye(code, try reader.text("Bye", limit: Limits.reason)))
    }
    try reader.finish("message \(type)")
  }
}

extension Hello {
  init(from reader: inout ByteReader) throws(WireError) {
    for expected in Message.magic {
      guard try reader.byte("Hello") == expected else {
        throw WireError(.malformed, "Hello: the peer is another program, it")
      }
    }
    self.version = try reader.uint("Hello")
    guard let purpose = Purpose(rawValue: try reader.byte("Hello")) else {
      throw WireError(.malformed, "Hello")
    }
    self.purpose = purpose
    self.site = try reader.identity("Hello")
    self.node = try reader.identity("Hello")
    self.name = try reader.text("Hello")
    self.run = try reader.word("Hello")
    self.clock = try reader.clock("Hello")
    guard let port = UInt16(exactly: try reader.uint("Hello")) else {
      throw WireError(.malformed, "Hello")
    }
    self.port = port
    self.schema = try reader.word("Hello")
    self.statements = try reader.word("Hello")
    self.life = try reader.word("Hello")
    self.view = try ClockView(wall: clock, from: &reader)
    self.standing = try CutStanding(from: &reader)
    for _ in 0..<(try reader.count("Hello: keys", limit: Limits.tableKeys)) {
      keys.append(
        TableKey(table: try reader.word("Hello: key"), key: try reader.word("Hello: key")))
    }
  }
}

extension Have {
  init(from reader: inout ByteReader) throws(WireError) {
    let flags = try reader.byte("Have")
    guard flags <= 3 else { throw WireError(.malformed, "Have") }
    self.asks = flags & 1 != 0
    self.frontier = try reader.frontier("Have")
    self.frontierHash = try reader.word("Have")
    self.rootDigest = try reader.word("Have")
    self.resume = try reader.frontier("Have")
    guard flags & 2 != 0 else { return }
    self.testimony = try Reach(from: &reader)
  }
}

extension Begin {
  init(from reader: inout ByteReader) throws(WireError) {
    let kind = try reader.byte("Begin")
    self.number = try reader.uint("Begin")
    self.rows = try reader.uint("Begin")
    switch kind {
    case 0: self.kind = .full(covers: try reader.frontier("Begin"))
    case 1:
      let origin = Origin(rawValue: try reader.word("Begin"))
      let from = try reader.uint("Begin")
      let to = try reader.uint("Begin")
      guard from < to, to <= 1 << 62 else { throw WireError(.malformed, "Begin") }
      self.kind = .push(origin: origin, from: from, to: to)
    case 2: self.kind = .repair
    default: throw WireError(.malformed, "Begin")
    }
    self.judged = try Judged(from: &reader)
  }
}

extension Judged {
  /// Nil if the sender knows of none.
  init?(from reader: inout ByteReader) throws(WireError) {
    let number = try reader.number("Begin: judged")
    guard number > 0 else { return nil }
    let term = Term(number: number, incarnation: try reader.word("Begin: judged"))
    self.init(term: term, frontier: try reader.frontier("Begin: judged"))
  }
}

extension Member {
  static func list(from reader: inout ByteReader) throws(WireError) -> [Member] {
    let count = try reader.count("Members", limit: Limits.members)
    var members: [Member] = []
    for _ in 0..<count {
      let node = try reader.identity("Members")
      let name = try reader.text("Members")
      let addresses = try reader.count("Members", limit: Limits.addresses)
      var texts: [String] = []
      for _ in 0..<addresses { texts.append(try reader.text("Members")) }
      let count = try reader.count("Members", limit: Limits.lives)
      var lives: [UInt64] = []
      for _ in 0..<count { lives.append(try reader.word("Members")) }
      members.append(Member(node: node, name: name, addresses: texts, lives: lives))
    }
    return members
  }
}

extension Buckets {
  init(from reader: inout ByteReader) throws(WireError) {
    self.frontierHash = try reader.word("Buckets")
    var sums: [UInt64] = []
    for _ in 0..<Digest.bucketCount { sums.append(try reader.word("Buckets")) }
    guard let digest = Digest(buckets: sums) else { throw WireError(.malformed, "Buckets") }
    self.digest = digest
  }
}

extension Join {
  init(from reader: inout ByteReader) throws(WireError) {
    self.name = try reader.text("Join")
    self.key = try reader.raw("Join", count: SiteStatement.keyLength)
    self.proof = try reader.raw("Join", count: SignedStatement.signatureLength)
  }
}

extension RowName {
  static func list(from reader: inout ByteReader) throws(WireError) -> [RowName] {
    var names: [RowName] = []
    for _ in 0..<(try reader.count("Want", limit: Limits.wantedRows)) {
      let table = try reader.text("Want")
      names.append(
        RowName(table: table, key: try reader.blob("Want", limit: Limits.wantedKey)))
    }
    return names
  }
}

extension Offer {
  init(from reader: inout ByteReader) throws(WireError) {
    self.siteName = try reader.text("Offer")
    self.rows = try reader.uint("Offer")
    self.objects = try reader.uint("Offer")
    guard objects <= UInt64(Limits.schemaObjects) else { throw WireError(.tooLong, "Offer") }
  }
}

extension Admit {
  init(from reader: inout ByteReader) throws(WireError) {
    self.rootKey = try reader.raw("Admit", count: SiteStatement.keyLength)
    self.nodeName = try reader.text("Admit")
    self.statements = try SignedStatement.decode(&reader, most: Limits.credentialStatements)
  }
}

extension SchemaObject {
  init(from reader: inout ByteReader) throws(WireError) {
    guard let kind = Kind(rawValue: try reader.byte("Schema")) else {
      throw WireError(.malformed, "Schema")
    }
    self.kind = kind
    self.name = try reader.text("Schema")
    self.sql = kind.hasSQL ? try reader.text("Schema", limit: Limits.schemaText) : ""
    guard !kind.hasSQL else { return }
    for _ in 0..<(try reader.count("Schema", limit: Limits.columns)) {
      fields.append(
        Field(column: try reader.text("Schema"), value: try reader.value("Schema")))
    }
  }
}
