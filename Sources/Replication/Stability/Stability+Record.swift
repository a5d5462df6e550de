/// Stability as a replica keeps it.
extension Stability {
  package var bytes: [UInt8] {
    var writer = ByteWriter()
    StabilityNews(standing: standing, cut: cut, floors: floors).write(to: &writer)
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
    return writer.bytes
  }

  package init(_ bytes: [UInt8]) throws(WireError) {
    var reader = ByteReader(bytes)
    let news = try StabilityNews(from: &reader)
    (whole, cleared, cut, floors) = (
      news.standing.whole, news.standing.cleared, news.cut, news.floors
    )
    if try reader.byte("stability") == 1 { stable = try reader.frontier("stability") }
    switch try reader.byte("stability") {
    case 1: renewal = .fetching(try reader.mark("stability"))
    case 2: renewal = .sweeping(try reader.mark("stability"))
    default: break
    }
    // Files of before do not tell.
    guard !reader.isAtEnd else { return }
    for _ in 0..<(try reader.count("stability", limit: Self.mostKnown)) {
      known.append(try reader.mark("stability"))
    }
  }
}
