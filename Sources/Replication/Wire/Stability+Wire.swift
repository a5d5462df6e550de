/// What a node tells of cuts and of what was collected.
package struct StabilityNews: Sendable, Equatable {
  package var standing: CutStanding
  package var cut: Cut?
  package var floors: Floors

  package init(standing: CutStanding, cut: Cut? = nil, floors: Floors = Floors()) {
    self.standing = standing
    self.cut = cut
    self.floors = floors
  }

  func write(to body: inout ByteWriter) {
    standing.write(to: &body)
    body.mark(cut?.mark ?? .none)
    if let cut {
      body.mark(cut.previous)
      body.frontier(cut.frontier)
      body.uint(cut.acknowledged.count)
      for (node, dot) in cut.acknowledged.sorted(by: { $0.key < $1.key }) {
        body.identity(node)
        body.word(dot.origin.rawValue)
        body.uint(dot.seq)
      }
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
    let mark = try reader.mark(what)
    if mark != .none {
      let previous = try reader.mark(what)
      guard previous.number + 1 == mark.number else { throw WireError(.malformed, what) }
      let frontier = try reader.frontier(what)
      var acknowledged: [Identity: Dot] = [:]
      var last: Identity?
      for _ in 0..<(try reader.count(what, limit: Limits.members)) {
        let node = try reader.identity(what)
        guard last.map({ $0 < node }) ?? true else { throw WireError(.malformed, what) }
        last = node
        let origin = Origin(rawValue: try reader.word(what))
        acknowledged[node] = Dot(origin, try reader.number(what))
      }
      cut = Cut(mark: mark, previous: previous, frontier: frontier, acknowledged: acknowledged)
    }
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
    floors = Floors(buckets)
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

  init(from reader: inout ByteReader) throws(WireError) {
    let flags = try reader.byte("standing")
    guard flags < 8 else { throw WireError(.malformed, "standing") }
    self.init(isRenewing: flags & Self.renews != 0)
    if flags & Self.hasWhole != 0 { whole = try reader.realMark("standing") }
    if flags & Self.hasCleared != 0 { cleared = try reader.realMark("standing") }
  }
}

extension ByteWriter {
  mutating func mark(_ mark: Mark) {
    uint(mark.number)
    if mark.number > 0 { word(mark.id) }
  }
}

extension ByteReader {
  mutating func mark(_ what: String) throws(WireError) -> Mark {
    let number = try uint(what)
    guard number <= Mark.highest else { throw WireError(.malformed, what) }
    return number == 0 ? .none : Mark(number: number, id: try word(what))
  }

  fileprivate mutating func realMark(_ what: String) throws(WireError) -> Mark {
    let mark = try mark(what)
    guard mark != .none else { throw WireError(.malformed, what) }
    return mark
  }
}
