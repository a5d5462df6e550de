/// What a node keeps of its clock, so that it goes on where it was.
extension SiteClock {
  private static let format: UInt8 = 1

  /// As the file keeps it; `boot` names this boot of the machine.
  package func bytes(boot: Identity, at now: ClockReading) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(Self.format)
    writer.identity(boot)
    writer.int(now.uptime)
    let isKnown = course != nil
    writer.byte(
      (isGood ? 1 : 0) | (wasSet ? 2 : 0) | (isKnown ? 4 | 16 : 0) | (wasBelieved ? 8 : 0) | 32)
    writer.optional(last)
    writer.optional(remembered?.site)
    writer.optional(remembered?.wall)
    writer.optional(ahead)
    writer.founding(founding)
    if let course {
      for value in [course.since, course.offset, course.rest, course.slewedFrom, base] {
        writer.int(value)
      }
    }
    writer.int(moved)
    writer.int(untold)
    return writer.bytes
  }

  /// Goes on from what was kept; in another boot only what is left of it: the last time known.
  package init(node: Identity, _ bytes: [UInt8], boot: Identity, at now: ClockReading) {
    self.init(node: node)
    guard let read = try? Self.read(bytes, node: node) else { return }
    let (kept, keptBoot, uptime) = read
    self = kept
    dropImpossible(at: now)
    // A machine that was put back to an earlier state has lost the time since.
    guard keptBoot != boot || uptime > now.uptime else { return }
    if let course { moved = max(0, course.offset - base) }
    (state, ahead, wasSet, wasBelieved) = (.unknown, nil, false, false)
  }

  private static func read(
    _ bytes: [UInt8], node: Identity
  ) throws(WireError) -> (SiteClock, Identity, Int64) {
    var reader = ByteReader(bytes)
    var clock = SiteClock(node: node)
    guard try reader.byte("clock") == format else { throw WireError(.malformed, "clock") }
    let boot = try reader.identity("clock")
    let uptime = try reader.clock("clock")
    let flags = try reader.byte("clock")
    clock.isGood = flags & 1 != 0
    clock.wasSet = flags & 2 != 0
    clock.wasBelieved = flags & 8 != 0
    clock.last = try reader.optionalClock("clock")
    let site = try reader.optionalClock("clock")
    let wall = try reader.optionalClock("clock")
    if let site, let wall { clock.remembered = Remembered(site: site, wall: wall) }
    clock.ahead = try reader.optionalClock("clock")
    clock.lastFounding = try reader.founding("clock")
    if flags & 4 != 0, let founding = clock.lastFounding {
      clock.state = .known(
        Course(
          founding: founding, since: try reader.clock("clock"),
          offset: try reader.clock("clock"), rest: try reader.clock("clock"),
          slewedFrom: try reader.clock("clock")))
      // Earlier versions did not keep where it counts from.
      clock.base = clock.course?.offset ?? 0
      if flags & 16 != 0 { clock.base = try reader.clock("clock") }
    }
    if flags & 32 != 0 {
      (clock.moved, clock.untold) = (try reader.clock("clock"), try reader.clock("clock"))
    }
    return (clock, boot, uptime)
  }
}

extension ByteWriter {
  mutating func optional(_ value: Int64?) {
    byte(value == nil ? 0 : 1)
    if let value { int(value) }
  }

  mutating func founding(_ founding: Founding?) {
    byte(founding == nil ? 0 : 1)
    founding?.write(to: &self)
  }
}

extension ByteReader {
  mutating func optionalClock(_ what: String) throws(WireError) -> Int64? {
    switch try byte(what) {
    case 0: nil
    case 1: try clock(what)
    default: throw WireError(.malformed, what)
    }
  }

  mutating func founding(_ what: String) throws(WireError) -> Founding? {
    switch try byte(what) {
    case 0: nil
    case 1: try Founding(from: &self)
    default: throw WireError(.malformed, what)
    }
  }
}
