/// A view of the site's time as it travels, after the sender's wall clock.
extension ClockView {
  private enum Flag {
    static let site: UInt8 = 1
    static let good: UInt8 = 2
    /// With site time what of it is vouched for, without it the last one known.
    static let last: UInt8 = 4
    static let estimate: UInt8 = 8
    static let founding: UInt8 = 16
    static let all: UInt8 = 31
  }

  func write(to body: inout ByteWriter) {
    var flags: UInt8 = isGood ? Flag.good : 0
    if site != nil { flags |= Flag.site }
    let base = site == nil ? last : vouched
    if base != nil { flags |= Flag.last }
    if estimate != nil { flags |= Flag.estimate }
    if founding != nil { flags |= Flag.founding }
    body.byte(flags)
    if let site {
      body.int(site)
      body.uint(UInt64(max(0, held)))
    }
    if let base { body.int(base) }
    if let estimate { body.int(estimate) }
    founding?.write(to: &body)
  }

  init(wall: Int64, from reader: inout ByteReader) throws(WireError) {
    let flags = try reader.byte("clock")
    guard flags & ~Flag.all == 0 else { throw WireError(.malformed, "clock") }
    self.init(wall: wall, isGood: flags & Flag.good != 0)
    if flags & Flag.site != 0 {
      site = try reader.clock("clock")
      let held = try reader.uint("clock")
      guard held <= UInt64(Limits.clock) else { throw WireError(.malformed, "clock") }
      self.held = Int64(held)
    }
    if flags & Flag.last != 0 {
      let base = try reader.clock("clock")
      (last, vouched) = site == nil ? (base, nil) : (nil, base)
    }
    if flags & Flag.estimate != 0 { estimate = try reader.clock("clock") }
    if flags & Flag.founding != 0 { founding = try Founding(from: &reader) }
    // Site time is somebody's.
    guard site == nil || founding != nil else { throw WireError(.malformed, "clock") }
  }
}

extension Founding {
  func write(to body: inout ByteWriter) {
    body.uint(reign)
    body.byte(source.rawValue)
    body.uint(generation)
    body.word(id)
  }

  init(from reader: inout ByteReader) throws(WireError) {
    let reign = try reader.uint("founding")
    guard let source = Source(rawValue: try reader.byte("founding")) else {
      throw WireError(.malformed, "founding")
    }
    let generation = try reader.uint("founding")
    guard reign <= Self.most, 1...Self.most ~= generation else {
      throw WireError(.malformed, "founding")
    }
    self.init(
      reign: reign, source: source, generation: generation, id: try reader.word("founding"))
  }
}
