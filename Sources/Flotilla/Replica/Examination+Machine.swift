import CLinux
import FoundationEssentials
import Glibc

/// The machine under the file: its disk, its clock, its firewall.
extension Examination {
  /// The write-ahead log may come to so much before anybody is told.
  private static let leastRoom: UInt64 = 256 << 20
  /// Each commit waits for the disk as long as this, in ms: then a person notices.
  private static let slowDisk = 100

  mutating func checkDisk(_ sidecar: Sidecar) async {
    if judge([FileSystem(at: sidecar.database), FileSystem(at: sidecar.folder)]) { return }
    let (room, folder) = (DiskRoom.free(at: sidecar.database), sidecar.folder)
    guard room >= DiskRoom.least else {
      let error = DiskRoom.shortage(room, of: path)
      return add("disk", .error, error.message, error.remedy)
    }
    let delay = await offPool { DiskPace.median(in: folder) }
    let amount = DiskRoom.words(room)
    let pace = delay.map { ", \($0 == 0 ? "less than 1" : "\($0)") ms to write safely" }
    if room < Self.leastRoom {
      add(
        "disk", .warning, "the disk of \(path) has only \(amount)",
        "Make room: the write-ahead log alone can take 256 MiB.")
    } else if let delay, delay > Self.slowDisk {
      add(
        "disk", .warning, "the disk of \(path) needs \(delay) ms to write safely (\(amount))",
        "Each commit waits so long. Is it a memory card, or is another program busy with it?")
    } else {
      add("disk", .ok, amount + (pace ?? ""))
    }
  }

  /// Tells of file systems on which WAL does not work, or may not; true for an error.
  mutating func judge(_ systems: [FileSystem]) -> Bool {
    let move = FileSystem.move
    for system in systems {
      switch system {
      case .fit: continue
      case .network(let name):
        add(
          "disk", .error,
          FileSystem.networkDrive(path, name), move)
        return true
      case .userSpace(let type):
        add(
          "file system", .warning,
          "\(path) is on a file system of a program (\(type)); not all of these let SQLite keep "
            + "programs apart", move)
      case .layer:
        add(
          "file system", .warning,
          "\(path) is in a layer of a container (overlay): it goes with the container, and "
            + "programs outside see another file",
          "Put the database into a volume, and let all programs that use it run there.")
      }
      return false
    }
    return false
  }

  mutating func checkTimeSource() {
    add(
      "time", .ok,
      Uptime.isSynchronised
        ? "the system says that its clock is synchronised (NTP)"
        : "the system's clock is not synchronised; the time of the site is what edits bear")
  }

  /// Firewalls that are on, where nobody is connected: they are the usual reason.
  mutating func checkFirewall(port: Int?) {
    let port = port ?? 7_391
    for (firewall, sign) in Firewall.seen() {
      add(
        "firewall", .warning,
        sign == .on
          ? "\(firewall.rawValue) is on, and no peer is connected"
          : "\(firewall.rawValue) may have rules that root alone can see, and no peer is connected",
        "If port \(port) is not open yet: \(firewall.opening(port))")
    }
  }
}

/// How long a disk needs for what a commit waits for.
enum DiskPace {
  /// The median of five small writes in ms; nil if none can be made.
  static func median(in folder: String) -> Int? {
    let path = folder + "/pace-\(getpid())"
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    defer {
      close(descriptor)
      unlink(path)
    }
    let page = [UInt8](repeating: 1, count: 4_096)
    var spans: [Duration] = []
    for _ in 0..<5 {
      let start = ContinuousClock.now
      guard write(descriptor, page, page.count) == page.count, fsync(descriptor) == 0 else {
        return nil
      }
      spans.append(start.duration(to: .now))
    }
    return Int(spans.sorted()[2].milliseconds)
  }
}
