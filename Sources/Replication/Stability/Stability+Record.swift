/// Stability as a replica keeps it.
extension Stability {
  /// Before the rest, since marks are hashes. It was one less since acknowledgements are signed; in
  /// older records a standing comes first.
  private static let format: UInt8 = 0x83

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
    writer.byte(agreed == nil ? 0 : 1)
    if let agreed { writer.frontier(agreed) }
    return writer.bytes
  }

  package init(_ bytes: [UInt8]) throws(WireError) {
    let isPresent = bytes.first == Self.format
    let isSigned = isPresent || bytes.first == Self.format - 1
    var reader = ByteReader(isSigned ? Array(bytes.dropFirst()) : bytes)
    let news =
      try isPresent
      ? StabilityNews(from: &reader) : StabilityNews(before: &reader, isSigned: isSigned)
    (whole, cleared, cut, floors) = (
      news.standing.whole, news.standing.cleared, news.cut, news.floors
    )
    acknowledgements = news.acknowledgements
    let short = !isPresent
    if try reader.byte("stability") == 1 {
      let frontier = try reader.frontier("stability")
      stable = isPresent ? frontier : nil
    }
    switch try reader.byte("stability") {
    case 1: renewal = .fetching(try reader.mark("stability", isShort: short))
    case 2: renewal = .sweeping(try reader.mark("stability", isShort: short))
    default: break
    }
    let count = reader.isAtEnd ? 0 : try reader.count("stability", limit: Self.mostKnown)
    for _ in 0..<count { known.append(try reader.mark("stability", isShort: short)) }
    guard isSigned else {
      mayHaveMissed = standing.isBehind
      return
    }
    mayHaveMissed = try reader.byte("stability") == 1
    if try reader.byte("stability") == 1 {
      let heard = Int64(bitPattern: try reader.word("stability"))
      cutHeard = isPresent ? heard : nil
    }
    guard isPresent, try reader.byte("stability") == 1 else { return }
    agreed = try reader.frontier("stability")
  }
}
