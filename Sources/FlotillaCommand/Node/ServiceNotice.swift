import Flotilla
import FoundationEssentials
import Glibc

/// Tells the service manager how this node fares, by the protocol of sd_notify(3): a datagram of
/// lines such as `READY=1`, to the socket that NOTIFY_SOCKET names.
struct ServiceNotice: Sendable {
  /// The address of the manager's socket; nil if nobody wants to hear.
  private let address: String?
  /// How often the manager must hear of this process, lest it ends it; nil if it does not ask.
  let watchdog: Duration?

  /// Takes the address out of the environment: what this process starts has nothing to tell.
  static func taken() -> ServiceNotice {
    let notice = ServiceNotice(environment: ProcessInfo.processInfo.environment)
    for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] { unsetenv(name) }
    return notice
  }

  /// "$WATCHDOG_PID is either unset or set to the PID of the current process" for whom the
  /// watchdog is meant (sd_watchdog_enabled(3)).
  init(environment: [String: String], process: pid_t = getpid()) {
    address = environment["NOTIFY_SOCKET"].flatMap {
      ($0.hasPrefix("/") || $0.hasPrefix("@")) && $0.utf8.count < 108 ? $0 : nil
    }
    let isMeant = environment["WATCHDOG_PID"].map { $0 == String(process) } ?? true
    let microseconds = environment["WATCHDOG_USEC"].flatMap(Int64.init) ?? 0
    watchdog =
      address != nil && isMeant && microseconds > 0 ? .microseconds(microseconds) : nil
  }

  func ready(_ text: String) { tell("READY=1\nSTATUS=\(printable(text))") }
  func stopping() { tell("STOPPING=1") }
  func alive() { tell("WATCHDOG=1") }

  /// A manager that does not listen is no reason to end: a failure is left at that.
  private func tell(_ text: String) {
    guard let address else { return }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var place = sockaddr_un()
    place.sun_family = sa_family_t(AF_UNIX)
    var path = Array(address.utf8)
    // "an abstract socket address is distinguished […] by the fact that sun_path[0] is a null
    // byte" (unix(7)); in the variable an @ stands for it.
    if path.first == UInt8(ascii: "@") { path[0] = 0 }
    withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: path) }
    let length = MemoryLayout<sa_family_t>.size + path.count
    let bytes = Array(text.utf8)
    withUnsafePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = sendto(
          descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, socklen_t(length))
      }
    }
  }
}

/// Tells the service manager again and again that the nodes answer; one that hangs is not told of,
/// and the manager ends the process and starts another.
enum Heartbeat {
  /// Works until it is cancelled.
  static func beat(_ notice: ServiceNotice, for replicas: [Replica]) async {
    guard let watchdog = notice.watchdog else { return }
    while (try? await Task.sleep(for: watchdog / 4)) != nil {
      if await answer(replicas) { notice.alive() }
    }
  }

  private static func answer(_ replicas: [Replica]) async -> Bool {
    for replica in replicas where await !replica.answers() { return false }
    return true
  }
}
