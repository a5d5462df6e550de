/// What a node tells of cuts and of what was collected.
package struct StabilityNews: Sendable, Equatable {
  package var standing: CutStanding
  package var cut: Cut?
  /// The last cut that each member has acknowledged.
  package var acknowledgements: [Identity: Acknowledgement]
  package var floors: Floors

  package init(
    standing: CutStanding, cut: Cut? = nil, acknowledgements: [Identity: Acknowledgement] = [:],
    floors: Floors = Floors()
  ) {
    self.standing = standing
    self.cut = cut
    self.acknowledgements = acknowledgements
    self.floors = floors
  }

  func write(to body: inout ByteWriter) {
    standing.write(to: &body)
    body.mark(cut?.mark ?? .none)
    if let cut {
      body.mark(cut.previous)
      body.frontier(cut.frontier)
    }
    body.uint(acknowledgements.count)
    for (node, said) in acknowledgements.sorted(by: { $0.key < $1.key }) {
      body.identity(node)
      body.mark(said.mark)
      body.word(said.last.origin.rawValue)
      body.uint(said.last.seq)
      body.blob(said.signature)
    }
    body.uint(floors.buckets.count)
    for (bucket, floor) in floors.buckets.sorted(by: { $0.key < $1.key }) {
      body.byte(UInt8(bucket))
      body.term(floor.term)
      body.uint(floor.epoch)
      body.uint(UInt64(floor.stamp.rawValue))
    }
  }

  init(from reader: inout ByteReader) throws(WireError) {
    let what = "Stability"
    standing = try CutStanding(from: &reader)
    cut = try Cut.read(from: &reader)
    acknowledgements = [:]
    var last: Identity?
    for _ in 0..<(try reader.count(what, limit: Limits.members)) {
      let node = try reader.identity(what)
      guard last.map({ $0 < node }) ?? true else { throw WireError(.malformed, what) }
      last = node
      let mark = try reader.realMark(what)
      let origin = Origin(rawValue: try reader.word(what))
      let dot = Dot(origin, try reader.number(what))
      let signature = try reader.blob(what, limit: Acknowledgement.signatureLength)
      acknowledgements[node] = Acknowledgement(
        node: node, mark: mark, last: dot, signature: signature)
    }
    floors = try Floors(from: &reader)
  }

  /// Of a record from before a mark was the hash of a cut: without the cut, and without who has
  /// said that it holds it. The next one is made, and everybody says so anew.
  init(before reader: inout ByteReader, isSigned: Bool) throws(WireError) {
    let what = "Stability"
    standing = try CutStanding(from: &reader, isShort: true)
    acknowledgements = [:]
    let cut = try Cut.read(from: &reader, isShort: true)
    let count =
      cut == nil && !isSigned ? 0 : try reader.count(what, limit: Limits.members)
    for _ in 0..<count {
      _ = try reader.identity(what)
      if isSigned { _ = try reader.mark(what, isShort: true) }
      _ = try reader.word(what)
      _ = try reader.number(what)
      if isSigned { _ = try reader.blob(what, limit: Acknowledgement.signatureLength) }
    }
    floors = try Floors(from: &reader)
  }
}

extension Cut {
  fileprivate static func read(
    from reader: inout ByteReader, isShort: Bool = false
  ) throws(WireError) -> Cut? {
    let what = "Stability"
    let mark = try reader.mark(what, isShort: isShort)
    guard mark != .none else { return nil }
    let previous = try reader.mark(what, isShort: isShort)
    guard previous.number + 1 == mark.number else { throw WireError(.malformed, what) }
    return Cut(mark: mark, previous: previous, frontier: try reader.frontier(what))
  }
}

extension Floors {
  fileprivate init(from reader: inout ByteReader) throws(WireError) {
    let what = "Stability"
    var buckets: [Int: Floor] = [:]
    var last = -1
    for _ in 0..<(try reader.count(what, limit: Digest.bucketCount)) {
      let bucket = Int(try reader.byte(what))
      guard bucket > last else { throw WireError(.malformed, what) }
      last = bucket
      buckets[bucket] = Floor(
        term: try reader.term(what), epoch: try reader.number(what),
        stamp: try reader.stamp(what))
    }
    self.init(buckets)
  }
}

extension CutStanding {
  private static let hasWhole: UInt8 = 1
  private static let hasCleared: UInt8 = 2
  private static let renews: UInt8 = 4

  func write(to body: inout ByteWriter) {
    var flags: UInt8 = 0
    if whole != .none { flags |= Self.hasWhole }
    if cleared != .none { flags |= Self.hasCleared }
    if isRenewing { flags |= Self.renews }
    body.byte(flags)
    if whole != .none { body.mark(whole) }
    if cleared != .none { body.mark(cleared) }
  }

  init(from reader: inout ByteReader, isShort: Bool = false) throws(WireError) {
    let flags = try reader.byte("standing")
    guard flags < 8 else { throw WireError(.malformed, "standing") }
    self.init(isRenewing: flags & Self.renews != 0)
    if flags & Self.hasWhole != 0 { whole = try reader.realMark("standing", isShort: isShort) }
    if flags & Self.hasCleared != 0 { cleared = try reader.realMark("standing", isShort: isShort) }
  }
}

extension ByteWriter {
  mutating func mark(_ mark: Mark) {
    uint(mark.number)
    if mark.number > 0 { identity(mark.id) }
  }
}

extension ByteReader {
  /// `isShort` if it is of a version before marks were hashes.
  mutating func mark(_ what: String, isShort: Bool = false) throws(WireError) -> Mark {
    let number = try uint(what)
    guard number <= Mark.highest else { throw WireError(.malformed, what) }
    guard number > 0 else { return .none }
    return isShort
      ? Mark(number: number, id: try word(what)) : Mark(number: number, id: try identity(what))
  }

  fileprivate mutating func realMark(
    _ what: String, isShort: Bool = false
  ) throws(WireError) -> Mark {
    let mark = try mark(what, isShort: isShort)
    guard mark != .none else { throw WireError(.malformed, what) }
    return mark
  }
}
