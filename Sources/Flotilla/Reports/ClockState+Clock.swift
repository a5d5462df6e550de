import Replication

extension ClockState {
  /// What a clock knows; `waiting`: edits that wait for the time of the site.
  init(_ machine: SiteClock, at now: Instant, waiting: Int, future: Int) {
    self.init()
    site_time = now.site.map(Node.text)
    clock_offset_ms = now.site.map { Int(clamping: now.wall - $0) }
    founding = machine.founding.map { String($0.id, radix: 16) }
    source = machine.founding.map { $0.source.name }
    good = machine.isGood
    self.waiting = now.site == nil ? waiting : 0
    self.future = future
  }
}

extension Founding.Source {
  /// As reports have it.
  var name: String {
    switch self {
    case .person: "person"
    case .clock: "clock"
    case .memory: "memory"
    }
  }
}
