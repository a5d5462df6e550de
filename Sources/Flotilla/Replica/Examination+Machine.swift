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
    if let network = NetworkDrive.name(at: sidecar.folder) {
      return add(
        "disk", .error,
        "\(path) is on a network drive (\(network)), where SQLite cannot keep programs apart",
        "Put the database on a disk of this machine; Flotilla brings it to the others.")
    }
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
    for firewall in Firewall.allCases where firewall.isOn {
      add(
        "firewall", .warning, "\(firewall.rawValue) is on, and no peer is connected",
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

/// File systems whose files lie on another machine (statfs(2)).
enum NetworkDrive {
  private static let names: [UInt32: String] = [
    0x6969: "NFS", 0xFF53_4D42: "SMB", 0xFE53_4D42: "SMB", 0x517B: "SMB", 0x0102_1997: "9p",
    0x5346_414F: "AFS", 0x00C3_6400: "Ceph", 0x786F_4256: "VirtualBox", 0x0116_1970: "GFS2",
    0x7461_636F: "OCFS2",
  ]

  static func name(at path: String) -> String? {
    var status = statfs()
    guard statfs(path, &status) == 0 else { return nil }
    return names[UInt32(truncatingIfNeeded: status.f_type)]
  }
}

/// What keeps others from a port on many machines, as far as one can see that without being root.
enum Firewall: String, CaseIterable {
  case ufw
  case firewalld

  var isOn: Bool {
    switch self {
    case .ufw:
      (try? String(contentsOfFile: "/etc/ufw/ufw.conf", encoding: .utf8))?
        .split(separator: "\n").contains { $0.lowercased().hasPrefix("enabled=yes") } == true
    case .firewalld: access("/run/firewalld", F_OK) == 0 || access("/run/firewalld.pid", F_OK) == 0
    }
  }

  func opening(_ port: Int) -> String {
    switch self {
    case .ufw: "sudo ufw allow \(port)/tcp; sudo ufw allow 5353/udp"
    case .firewalld:
      "sudo firewall-cmd --permanent --add-port=\(port)/tcp --add-service=mdns; "
        + "sudo firewall-cmd --reload"
    }
  }
}
