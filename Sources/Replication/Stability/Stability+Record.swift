/// Stability as a replica keeps it.
extension Stability {
  /// Before the rest, since acknowledgements are signed. In older records a standing comes first.
  private static let format: UInt8 = 0x82

  package var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.byte(Self.format)
    StabilityNews(
      standing: standing, cut: cut, acknowledgements: acknowledgements, floors: floors
    ).write(to: &writer)
    writer.byte(stable == nil ? 0 : 1)
    if let stable { writer.frontier(stable) }
    switch renewal {
    case nil: writer.byte(0)
    case .fetching(let mark):
      writer.byte(1)
      writer.mark(mark)
    case .sweeping(let mark):
      writer.byte(2)
      writer.mark(mark)
    }
    writer.uint(known.count)
    for mark in known { writer.mark(mark) }
    writer.byte(mayHaveMissed ? 1 : 0)
    writer.byte(cutHeard == nil ? 0 : 1)
    if let cutHeard { writer.word(UInt64(bitPattern: cutHeard)) }
    return writer.bytes
  }

  package init(_ bytes: [UInt8]) throws(WireError) {
    let isSigned = bytes.first == Self.format
    var reader = ByteReader(isSigned ? Array(bytes.dropFirst()) : bytes)
    let news = try isSigned ? StabilityNews(from: &reader) : StabilityNews(unsigned: &reader)
    (whole, cleared, cut, floors) = (
      news.standing.whole, news.standing.cleared, news.cut, news.floors
    )
    acknowledgements = news.acknowledgements
    if try reader.byte("stability") == 1 { stable = try reader.frontier("stability") }
    switch try reader.byte("stability") {
    case 1: renewal = .fetching(try reader.mark("stability"))
    case 2: renewal = .sweeping(try reader.mark("stability"))
    default: break
    }
    let count = reader.isAtEnd ? 0 : try reader.count("stability", limit: Self.mostKnown)
    for _ in 0..<count {
      known.append(try reader.mark("stability"))
    }
    guard isSigned else {
      mayHaveMissed = standing.isBehind
      return
    }
    mayHaveMissed = try reader.byte("stability") == 1
    guard try reader.byte("stability") == 1 else { return }
    cutHeard = Int64(bitPattern: try reader.word("stability"))
  }
}
