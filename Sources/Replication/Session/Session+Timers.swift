extension Session {
  /// A silent link is dead after this long, in ms.
  package static let silence: Int64 = 10_000

  /// When something must happen by itself; all times are uptime in ms.
  struct Timers: Sendable {
    /// A side that has sent nothing for this long sends a Ping.
    static let quiet: Int64 = 3_000
    /// Who has not said Hello by then is let go, however busy the stream is.
    static let greeting: Int64 = 10_000
    /// So long may a joiner take in all.
    static let pairing: Int64 = 60_000
    /// Clocks are compared this often.
    static let clockCheck: Int64 = 60_000
    /// But not more often than this.
    static let clockPause: Int64 = 500
    /// An answer that took longer says too little about a clock.
    static let roundTrip: Int64 = 1_000
    /// Digests are compared bucket by bucket at most this often.
    static let repairPause: Int64 = 60_000
    /// And this often if no repair has helped so far.
    static let longestRepairPause: Int64 = 3_600_000
    /// How long changes of the frontier are gathered before the peer is told.
    static let gathering: Int64 = 20

    let start: Int64
    private(set) var lastHeard: Int64
    /// False while the shell does not read: then silence means nothing.
    var isReading = true
    private(set) var lastSent: Int64
    var lastClockCheck: Int64
    var compareDue: Int64?
    /// When the last Pings were sent that were not answered yet.
    var asked: [Int64] = []
    var haveDue: Int64?
    var relayDue: Int64?
    var lastRepair: Int64?
    /// By how much the digests differed when they were compared last, and how long the next
    /// comparison has to wait if they still differ by that.
    var difference: UInt64?
    var comparePause = Timers.repairPause
    /// When digests are looked at again that differed.
    var repairDue: Int64?
    var lastRegain: Int64?

    init(start: Int64) {
      self.start = start
      self.lastHeard = start
      self.lastSent = start
      self.lastClockCheck = start
    }

    mutating func heard(_ now: Int64) {
      lastHeard = now
      isReading = true
    }
    mutating func sent(_ now: Int64) { lastSent = now }

    /// If not, it is due a little later.
    mutating func mayCompare(_ now: Int64) -> Bool {
      guard now - lastClockCheck < Self.clockPause else { return true }
      compareDue = lastClockCheck + Self.clockPause
      return false
    }

    /// True once the peer has been silent for too long.
    func isSilent(_ now: Int64) -> Bool { silenceDue <= now }

    var silenceDue: Int64 { isReading ? lastHeard + Session.silence : .max }
    var pingDue: Int64 {
      min(lastSent + Self.quiet, lastClockCheck + Self.clockCheck, compareDue ?? .max)
    }
  }

  /// The uptime at which the session wants its next `tick`; a tick then always moves it on.
  package var deadline: Int64 {
    let silence = timers.silenceDue
    switch state {
    case .closed: return .max
    case .greeting: return min(silence, timers.start + Timers.greeting)
    case .pairing: return min(silence, timers.start + Timers.pairing)
    case .open:
      let exchange = min(timers.haveDue ?? .max, timers.relayDue ?? .max)
      let looks = min(timers.repairDue ?? .max, inspecting.due ?? .max, pace.due)
      return min(min(silence, timers.pingDue), min(exchange, looks))
    }
  }

  mutating func tick(_ directives: inout [Directive], _ now: Instant) {
    guard state != .closed else { return }
    if timers.isSilent(now.uptime) {
      let seconds = Self.silence / 1000
      return fail(Bye(.silent, "no word for \(seconds) seconds"), &directives)
    }
    guard state == .open else {
      // Strangers must not hold a place by a byte now and then.
      let limit = state == .greeting ? Timers.greeting : Timers.pairing
      guard now.uptime - timers.start >= limit else { return }
      return fail(Bye(.silent, "no introduction within \(limit / 1000) seconds"), &directives)
    }
    if let due = timers.haveDue, due <= now.uptime { sendHave(asks: false, &directives, now) }
    if let due = timers.relayDue, due <= now.uptime { considerExport(&directives, now) }
    if let due = timers.repairDue, due <= now.uptime {
      timers.repairDue = nil
      considerRepair(&directives, now)
    }
    if let due = inspecting.due, due <= now.uptime { answerNext(&directives, now) }
    if pace.takeDue.map({ $0 <= now.uptime }) == true { takeStability(&directives, now) }
    if pace.tellDue.map({ $0 <= now.uptime }) == true { tellStability(&directives, now) }
    if timers.pingDue <= now.uptime { sendPing(&directives, now) }
  }

  mutating func sendPing(_ directives: inout [Directive], _ now: Instant) {
    timers.lastClockCheck = now.uptime
    timers.compareDue = nil
    timers.asked = timers.asked.suffix(3) + [now.uptime]
    send(.ping(sent: now.uptime, clock.view(at: now)), &directives, now)
  }

  /// Compares clocks out of turn, unless that was done a moment ago.
  mutating func compareClocks(_ directives: inout [Directive], _ now: Instant) {
    guard timers.mayCompare(now.uptime) else { return }
    sendPing(&directives, now)
  }

  /// The answer was written at some time within the round trip; it is timed by uptime, which nobody
  /// sets meanwhile. A Pong is sent at once, so its two times are one.
  mutating func hearPong(
    echo: Int64, _ view: ClockView, _ directives: inout [Directive], _ now: Instant
  ) {
    // An answer that was not asked for says nothing; else a peer could say something all the time.
    guard let asked = timers.asked.firstIndex(of: echo) else { return }
    timers.asked.remove(at: asked)
    let roundTrip = now.uptime - echo
    guard 0...Timers.roundTrip ~= roundTrip else { return }
    directives.append(.measuredClock(view, roundTrip: roundTrip, at: now.uptime))
  }
}
