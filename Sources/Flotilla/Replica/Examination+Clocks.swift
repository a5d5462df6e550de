/// Clocks that are wrong, and what was done about it.
extension Examination {
  /// A clock that is off by more is worth a word.
  private static let notable = 10 * 60 * 1_000

  mutating func judge(_ clock: ClockState, _ peers: [PeerReport]) {
    guard clock.site_time != nil else {
      return add(
        "clocks", .warning,
        "the time of the site is not known since this machine was started; edits made here wait",
        "Let this node meet another, or give the time: flotilla clock \(shellWord(path)) --set "
          + "TIME")
    }
    judge("this machine", by: clock.clock_offset_ms ?? 0, isCorrected: true)
    for peer in peers {
      judge(peer.node, by: peer.clock_offset_ms, isCorrected: peer.clock_corrected)
    }
    if clock.source == "memory" {
      add(
        "clocks", .warning,
        "the time of the site goes on from the last that was known, for no clock could be believed",
        "If \(clock.site_time ?? "it") is wrong: flotilla clock \(shellWord(path)) --set TIME")
    }
    if clock.future > 0 {
      add(
        "clocks", .warning, "\(clock.future) rows have stamps from the future",
        "flotilla clock \(shellWord(path)) --repair")
    }
  }

  /// An hour or more in days and hours, less in minutes.
  private static func span(_ milliseconds: Int) -> String {
    let minutes = milliseconds / 60_000
    let (days, hours) = (minutes / 1_440, minutes / 60 % 24)
    if days > 0 { return "\(days) d \(hours) h" }
    return hours > 0 ? "\(hours) h \(minutes % 60) m" : "\(minutes) m"
  }

  private mutating func judge(_ node: String, by offset: Int, isCorrected: Bool) {
    guard abs(offset) > Self.notable else { return }
    add(
      "clocks", .warning,
      "the clock of \(node) is \(offset > 0 ? "ahead" : "behind") by \(Self.span(abs(offset)))"
        + (isCorrected ? " (corrected)" : " (not corrected yet)"),
      isCorrected
        ? "Edits are stamped by the time of the site, so nothing has to be done."
        : "Wait until it has taken over the time of the site.")
  }
}
