import Replication
import Testing

/// What an anchor has to do with rows, as it travels.
@Suite struct `Rows that concern an anchor` {
  /// Every combination of the four marks, at the bounds of their fields.
  static let versions: [Version] = (0..<16).map { (marks: Int) in
    let dot = Dot(Samples.origin(3), 1 << 62)
    var version = Version(
      dot: dot, created: marks % 3 == 0 ? dot : Dot(Samples.origin(1), 1),
      createdAt: marks % 3 == 0 ? nil : .zero, stamp: .highest, hash: 9, isDeleted: false)
    if marks & 1 != 0 || marks & 2 != 0 {
      version.term = Term(number: marks & 1 == 0 ? 1 : 1 << 62, incarnation: .max)
      version.epoch = marks & 1 == 0 ? 0 : 1 << 62
    }
    if marks & 2 != 0 {
      version.certificate = Version.Certificate(edit: Dot(Samples.origin(4), 1), at: .highest)
    }
    if marks & 4 != 0 { version.session = .max }
    if marks & 8 != 0 {
      for number in UInt64(10)..<18 { version.context.add(Dot(Samples.origin(number), number)) }
    }
    return version
  }

  static let rulings: [Ruling] =
    (Reason.allCases.map(Ruling.Kind.rejected) + [.tookOffice, .stoodDown]).map {
      Ruling($0, edit: Dot(Samples.origin(5), 1 << 62), rule: "a rule · ü")
    }

  static var batch: RowBatchWriter {
    var writer = RowBatchWriter()
    for version in versions {
      writer.add(Samples.notes, version, .values([.integer(1), .null, .null]))
    }
    for ruling in rulings {
      let dot = Dot(Samples.origin(5), 7)
      var version = Version(dot: dot, created: dot, stamp: .zero, hash: 0, isDeleted: false)
      version.term = Term(number: 1, incarnation: 0)
      writer.add(Samples.notes, version, .ruling(ruling, key: [.integer(1)]))
    }
    return writer
  }

  @Test func `arrive as they were sent`() throws {
    let writer = Self.batch
    let batch = try RowBatch(bytes: writer.bytes)
    #expect(batch.rows.prefix(16).map(\.version) == Self.versions)
    #expect(batch.rows.dropFirst(16).compactMap(\.content.ruling) == Self.rulings)
    #expect(batch.check == writer.check && writer.bytes.count <= writer.size)
    for count in 0..<writer.bytes.count {
      #expect(throws: WireError.self) { try RowBatch(bytes: Array(writer.bytes.prefix(count))) }
    }
  }

  /// One row with these marks and what follows them; one origin, one term.
  private func row(
    flags: UInt8 = 2 | 8, hash: UInt64 = 5, term: UInt64 = 1, values: [UInt8] = [1, 2, 0],
    _ rest: [UInt8]
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.uint(1)
    writer.text("t")
    for number in [1, 2] { writer.uint(number) }
    for column in ["a", "b"] { writer.text(column) }
    writer.byte(0)
    writer.uint(0)
    writer.uint(1)
    writer.word(9)
    writer.uint(1)
    writer.uint(term)
    writer.word(3)
    writer.uint(1)
    RowBatchTests.row(flags: flags, hash: hash, values: rest + values)(&writer)
    return writer.bytes
  }

  @Test func `are read by hand`() throws {
    let rows: [([UInt8], (Version) -> Bool)] = [
      ([1, 0, 5], { $0.term.incarnation == 3 && $0.epoch == 5 && $0.isTentative }),
      ([3, 0, 5, 0, 4, 8], { $0.edit.seq == 4 && $0.certificate?.at == Stamp(rawValue: 8) }),
      ([4, 0, 0, 0, 0, 0, 0, 0, 6], { $0.session == 6 && $0.term == .none }),
      ([16], { $0.isUndated && $0.term == .none }),
      ([48, 7], { $0.isUndated && $0.term == .none && $0.epoch == 7 }),
      ([128, 0, 4], { $0.image == Dot(Origin(rawValue: 9), 4) && $0.isTentative }),
      ([64], { $0.isDangling && !$0.isUndated }),
      ([8, 1, 0, 2], { $0.context.dots.map(\.seq) == [2] }),
    ]
    for (bytes, isRight) in rows {
      let batch = try RowBatch(bytes: row(bytes))
      #expect(batch.rows.count == 1 && isRight(batch.rows[0].version), "\(bytes)")
    }
    let ruling = try RowBatch(
      bytes: row(flags: 2 | 16, hash: 0, values: [1, 2], [3, 0, 4, 1, 0x72]))
    #expect(
      ruling.rows[0].content.ruling
        == Ruling(.rejected(.unseen), edit: Dot(Origin(rawValue: 9), 4), rule: "r"))
  }

  @Test func `that cannot be are refused`() {
    let seq = { (count: Int) in [UInt8](repeating: 0x80, count: count) }
    let wrong: [(String, [UInt8])] = [
      ("no mark", row([0])), ("an unknown mark", row([128])), ("term beyond", row([1, 1, 5])),
      ("epoch", row([1, 0] + seq(8) + [0x41])),
      ("two epochs", row([33, 0, 5, 6])), ("epoch 0 without term", row([32, 0])),
      ("certificate without term", row([2, 0, 4, 8])),
      ("certificate of origin beyond", row([3, 0, 5, 1, 4, 8])),
      ("certificate of seq 0", row([3, 0, 5, 0, 0, 8])),
      (
        "certificate stamp",
        row([3, 0, 5, 0, 4] + [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F])
      ),
      ("image of seq 0", row([128, 0, 0])), ("image of origin beyond", row([128, 1, 4])),
      ("empty context", row([8, 0])), ("context of nine", row([8, 9] + (0..<18).map { $0 % 2 })),
      ("context with one origin twice", row([8, 2, 0, 1, 0, 2])),
      ("a term of number 0", row(term: 0, [1, 0, 5])),
      ("ruling of kind 0", row(flags: 18, hash: 0, values: [1, 2], [0, 0, 4, 0])),
      ("ruling of kind 8", row(flags: 18, hash: 0, values: [1, 2], [8, 0, 4, 0])),
      ("ruling with a hash", row(flags: 18, values: [1, 2], [3, 0, 4, 0])),
      ("ruling on seq 0", row(flags: 18, hash: 0, values: [1, 2], [3, 0, 0, 0])),
      ("ruling and deleted", row(flags: 19, hash: 0, values: [1, 2], [3, 0, 4, 0])),
      ("ruling and withheld", row(flags: 22, hash: 0, values: [1, 2], [3, 0, 4, 0])),
      ("ruling with all columns", row(flags: 18, hash: 0, values: [1, 2, 0], [3, 0, 4, 0])),
    ]
    for (what, bytes) in wrong {
      #expect(throws: WireError.self, "\(what)") { try RowBatch(bytes: bytes) }
    }
  }

  @Test func `of a leaf are edits of its own, and nothing else`() {
    let licence = LeafLicence(origin: Samples.origin(3), rights: .all)
    for version in Self.versions {
      let row = WireRow(table: 0, version: version, content: .values([.integer(1)]))
      #expect(licence.allows(row, in: "notes") == version.isTentative)
    }
    let ruling = WireRow(
      table: 0, version: Self.versions[0], content: .ruling(Self.rulings[0], key: [.integer(1)]))
    #expect(!licence.allows(ruling, in: "notes"))
  }

  @Test func `in the beginning of an exchange say what was judged`() throws {
    for term in [Term(number: 1, incarnation: 0), Term(number: 1 << 62, incarnation: .max)] {
      for frontier in Samples.frontiers {
        for kind: Begin.Kind in [
          .full(covers: frontier), .push(origin: Samples.origin(1), from: 0, to: 1),
        ] {
          let message = Message.begin(
            Begin(kind, rows: 1, judged: Judged(term: term, frontier: frontier)))
          #expect(try Message(frame: message.body) == message)
          for count in 0..<message.body.count {
            #expect(throws: WireError.self) {
              try Message(frame: Array(message.body.prefix(count)))
            }
          }
        }
      }
    }
    let wrong = MessageTests.bytes(3) {
      for number: UInt8 in [2, 0, 0] { $0.byte(number) }
      $0.uint((UInt64(1) << 62) + 1)
      $0.word(0)
      $0.uint(0)
    }
    #expect(throws: WireError.self) { try Message(frame: wrong) }
  }
}
