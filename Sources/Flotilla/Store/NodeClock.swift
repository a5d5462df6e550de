import Glibc
import Network
import Replication
import Store

/// Where the readings of clocks come from: this machine, or a test.
struct MachineClock: Sendable {
  /// Names this boot of the machine: site time is told by what has passed since.
  var boot: Identity
  var read: @Sendable () -> ClockReading

  static let here = MachineClock(boot: bootOfHere, read: { readingOfHere })

  /// "boot_id … is generated once" at each boot (random(4)).
  private static let bootOfHere: Identity = {
    guard let file = fopen("/proc/sys/kernel/random/boot_id", "r") else { return .none }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 64)
    guard fgets(&line, Int32(line.count), file) != nil else { return .none }
    let text = line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return Identity(String(decoding: text, as: UTF8.self).filter(\.isHexDigit)) ?? .none
  }()

  /// Both clocks at one moment: a thread that has to wait between the two would see a clock that
  /// was set.
  private static var readingOfHere: ClockReading {
    let isKept = !lacksBattery || Uptime.isSynchronised
    while true {
      let (before, wall) = (Uptime.now, Uptime.wall)
      guard Uptime.now - before > 20 else {
        return ClockReading(uptime: before, wall: wall, isKept: isKept)
      }
    }
  }

  /// The kernel knows of clocks, and has none: a machine that wakes up in the past.
  private static let lacksBattery: Bool = {
    guard let folder = opendir("/sys/class/rtc") else { return false }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      if entry.pointee.d_name.0 != 0x2E { return false }
    }
    return true
  }()
}

/// The time of the site as a node knows it, for all its parts.
final class NodeClock: Sendable {
  private let machine: MachineClock
  private let clock: Locked<SiteClock>

  init(_ store: Store, _ machine: MachineClock) throws(StoreError) {
    self.machine = machine
    let kept = try store.begin(boot: machine.boot)
    let now = machine.read()
    self.clock = Locked(
      kept.map { SiteClock(node: store.node, $0, boot: machine.boot, at: now) }
        ?? SiteClock(node: store.node))
  }

  /// This moment; without site time as long as that is not known.
  var now: Instant {
    let reading = machine.read()
    return clock.withLock { $0.instant(reading) }
  }

  func receive(_ input: SiteClock.Input) -> [SiteClock.Directive] {
    let reading = machine.read()
    return clock.withLock { $0.receive(input, at: reading) }
  }

  /// What sessions have to say of it.
  var standing: ClockStanding {
    let reading = machine.read()
    return clock.withLock { $0.standing(at: reading) }
  }

  /// The machine as it is, for reports.
  var state: SiteClock { clock.withLock { $0 } }

  /// As the file keeps it.
  var bytes: [UInt8] {
    let reading = machine.read()
    return clock.withLock { $0.bytes(boot: machine.boot, at: reading) }
  }
}
