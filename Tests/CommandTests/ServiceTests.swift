import Foundation
import Testing

@testable import FlotillaCommand

/// Whether a program of the system is there.
private func has(_ program: String) -> Bool { access("/usr/bin/\(program)", X_OK) == 0 }

@Suite struct `The unit of a database` {
  static let top = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  private func unit(_ database: String) -> ServiceUnit {
    ServiceUnit(database: database, user: "clinic", group: "staff")
  }

  @Test(
    .enabled(if: has("systemd-escape"), "there is no systemd-escape here"),
    arguments: ["/srv/clinic/clinic.db", "/.a", "/a b/ä-%.db", "/x/y:z_1.db", "/a\\b\"c'd"])
  func `is named as systemd names paths`(path: String) throws {
    let tool = "/usr/bin/systemd-escape"
    let folder = try Folder()
    defer { folder.remove() }
    let named = try folder.run(tool, ["--path", "--template=flotilla@.service", path])
    #expect(unit(path).name + "\n" == named)
  }

  @Test func `says whose the database is and where it may write`() {
    #expect(
      unit("/srv/a b/100%.db").settings == """
        # Written by: flotilla service '/srv/a b/100%.db' enable
        [Service]
        User=clinic
        Group=staff
        ReadWritePaths="/srv/a b"

        """)
    #expect(unit("/srv/50%:\"x\"/a.db").settings.contains(#"ReadWritePaths="/srv/50%%\:\"x\"""#))
    #expect(
      Array(unit("/srv/%\u{301}\"\u{301}/a.db").settings.utf8).contains(
        Array("ReadWritePaths=\"/srv/%%\u{301}\\\"\u{301}\"".utf8)))
    #expect(unit("/home/anna/a.db").settings.contains("BindPaths=\"/home/anna\"\n"))
  }

  @Test(.enabled(if: has("systemd-analyze"), "there is no systemd-analyze here"))
  func `is well hardened`() throws {
    let tool = "/usr/bin/systemd-analyze"
    let folder = try Folder()
    defer { folder.remove() }
    try install(in: folder)
    let units = folder.url.path + "/usr/lib/systemd/system"
    try FileManager.default.copyItem(
      atPath: units + "/flotilla@.service", toPath: units + "/flotilla@a.service")
    // The level in tenths from which on it fails.
    let said = try folder.run(
      tool,
      [
        "security", "--offline=yes", "--threshold=25", "--root=\(folder.url.path)", "--no-pager",
        "flotilla@a.service",
      ])
    #expect(said.contains("Overall exposure level"))
  }

  private func install(in folder: Folder, _ image: String = "") throws {
    let root = folder.url.path + image
    let units = root + "/usr/lib/systemd/system"
    for made in [units, root + "/etc/systemd/system"] {
      try FileManager.default.createDirectory(atPath: made, withIntermediateDirectories: true)
    }
    let text = try String(
      contentsOfFile: Self.top + "/scripts/packaging/flotilla@.service", encoding: .utf8)
    try text.replacingOccurrences(of: "@bindir@", with: "/usr/bin")
      .write(toFile: units + "/flotilla@.service", atomically: true, encoding: .utf8)
  }

  @Test(.enabled(if: has("systemctl"), "there is no systemctl here"))
  func `is set up in an image, and taken back`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let root = folder.url.path
    let refused = try folder.flotilla("service", "a.db", "enable", "--root", root, status: 1)
    #expect(refused.contains("there is no file a.db"))
    try folder.flotilla("init", "a.db")
    let bare = try folder.flotilla("service", "a.db", "enable", "--root", root, status: 1)
    #expect(bare.contains("flotilla@.service is not installed in \(root)"))
    try install(in: folder)

    let enabled = try folder.flotilla("service", "a.db", "enable", "--root", root)
    #expect(enabled.contains("flotilla@a.db.service starts with the machine"))
    let link = "/etc/systemd/system/multi-user.target.wants/flotilla@a.db.service"
    let settings = root + "/etc/systemd/system/flotilla@a.db.service.d/database.conf"
    #expect(
      try FileManager.default.destinationOfSymbolicLink(atPath: root + link)
        .hasSuffix("/usr/lib/systemd/system/flotilla@.service"))
    #expect(try String(contentsOfFile: settings, encoding: .utf8).contains("ReadWritePaths=\"/\""))
    #expect(
      try folder.flotilla("service", "a.db", "status", "--root", root, "--json")
        .contains("\"enabled\":true"))

    try folder.flotilla("service", "a.db", "disable", "--root", root)
    #expect(!FileManager.default.fileExists(atPath: settings))
    #expect(try folder.flotilla("service", "a.db", "status", "--root", root, status: 3) != "")
    let gone = try folder.flotilla("service", "a.db", "disable", "--root", root + "/no", status: 1)
    #expect(gone.contains("cannot write in"))
  }

  @Test(.enabled(if: has("systemctl"), "there is no systemctl here"))
  func `of a database that is gone is taken back all the same`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let root = folder.url.path
    try install(in: folder)
    for folderIsGone in [false, true] {
      try FileManager.default.createDirectory(
        atPath: root + "/srv", withIntermediateDirectories: true)
      try folder.flotilla("init", "srv/a.db")
      try folder.flotilla("service", "srv/a.db", "enable", "--root", root)
      for name in try FileManager.default.contentsOfDirectory(atPath: root + "/srv") {
        try FileManager.default.removeItem(atPath: root + "/srv/" + name)
      }
      if folderIsGone { try FileManager.default.removeItem(atPath: root + "/srv") }
      let path = root + "/srv/a.db"
      let status = try folder.flotilla("service", path, "status", "--root", root, "--json")
      #expect(status.contains("\"enabled\":true") && status.contains("\"user\":null"), "\(status)")
      let refused = try folder.flotilla("service", path, "enable", "--root", root, status: 1)
      #expect(refused.contains("there is no file \(path)"))
      let taken = try folder.flotilla("service", path, "disable", "--root", root)
      #expect(taken.contains("flotilla@srv-a.db.service does not start with the machine"))
      let units = try FileManager.default.contentsOfDirectory(atPath: root + "/etc/systemd/system")
      #expect(!units.contains { $0.hasPrefix("flotilla@srv-a.db") })
    }
  }

  @Test(.enabled(if: has("systemctl"), "there is no systemctl here"))
  func `of an image has the path that it has there, and its owner by number`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let root = folder.url.path + "/image"
    try FileManager.default.createDirectory(
      atPath: root + "/srv", withIntermediateDirectories: true)
    try install(in: folder, "/image")
    try FileManager.default.createSymbolicLink(
      atPath: folder.url.path + "/link", withDestinationPath: "image")
    try folder.flotilla("init", "image/srv/a.db")
    let settings = root + "/etc/systemd/system/flotilla@srv-a.db.service.d/database.conf"
    for given in ["image", "link/", root, "./image/../image"] {
      try folder.flotilla("service", "image/srv/a.db", "enable", "--root", given)
      let written = try String(contentsOfFile: settings, encoding: .utf8)
      #expect(written.contains("User=\(getuid())\nGroup=\(getgid())\n"), "\(written)")
      #expect(written.contains("ReadWritePaths=\"/srv\"\n"), "\(written)")
      try folder.flotilla("service", "image/srv/a.db", "disable", "--root", given)
    }
    try folder.flotilla("init", "out.db")
    let said = try folder.flotilla("service", "out.db", "enable", "--root", "image", status: 1)
    #expect(said.contains("out.db is not in the image \(root)"), "\(said)")
  }

  /// As systemd judges the conditions of the unit for a database.
  @Test(.enabled(if: has("systemd-analyze"), "there is no systemd-analyze here"))
  func `starts where the database may yet come, and not where it is no replica`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let unit = try String(
      contentsOfFile: Self.top + "/scripts/packaging/flotilla@.service", encoding: .utf8)
    func starts(_ name: String, status: Int32 = 0) throws {
      let conditions = unit.split(separator: "\n").filter { $0.hasPrefix("Condition") }
        .map { String($0.replacing("%f", with: folder.url.path + "/" + name)) }
      try folder.run("/usr/bin/systemd-analyze", ["condition"] + conditions, status: status)
    }
    try starts("nowhere/a.db")
    try folder.flotilla("init", "a.db")
    try starts("a.db")
    try folder.flotilla("leave", "a.db")
    try starts("a.db", status: 1)
    // And it is tried again without end.
    #expect(unit.contains("\nStartLimitIntervalSec=0\n") && unit.contains("\nRestartSec=10s\n"))
    #expect(!unit.contains("StartLimitBurst"))
  }

  @Test(.disabled(if: access("/run/systemd/system", F_OK) == 0, "systemd runs here"))
  func `needs a systemd that runs`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    try folder.flotilla("init", "a.db")
    let said = try folder.flotilla("service", "a.db", "enable", status: 1)
    #expect(said.contains("systemd does not run on this machine\n  Start the node with: flotilla"))
    let ended = try folder.flotilla("service", "a.db", "disable", status: 1)
    #expect(ended.contains("systemd does not run on this machine\n  There is nothing to disable"))
  }
}

@Suite struct `A node under a service manager` {
  /// The datagrams that came to a socket, up to a certain one.
  private func heard(
    at path: String, until last: String, _ work: (String) throws -> Void
  ) throws -> [String] {
    let manager = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(manager) }
    var place = sockaddr_un()
    place.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &place.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let bound = withUnsafePointer(to: &place) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(manager, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0)
    // A node that says nothing for so long will say nothing at all.
    var patience = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(
      manager, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    try work(path)
    var said: [String] = []
    while said.last != last {
      var buffer = [UInt8](repeating: 0, count: 4096)
      let count = recv(manager, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      said.append(String(decoding: buffer.prefix(count), as: UTF8.self))
    }
    return said
  }

  @Test func `says that it is ready, that it lives, and that it stops`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    try folder.flotilla("init", "a.db")
    let process = Process()
    process.executableURL = URL(filePath: folder.products + "/flotilla")
    process.arguments = ["run", "a.db", "--no-discovery", "--listen", "127.0.0.1:0"]
    process.currentDirectoryURL = folder.url
    process.standardError = FileHandle.nullDevice
    let path = folder.url.path + "/notify"
    process.environment = ProcessInfo.processInfo.environment
      .merging(["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"]) { $1 }
    let first = try heard(at: path, until: "WATCHDOG=1") { _ in try process.run() }
    unlink(path)
    let last = try heard(at: path, until: "STOPPING=1") { _ in process.terminate() }
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    #expect(Set(first).isSubset(of: ["READY=1\nSTATUS=1 database", "WATCHDOG=1"]))
    #expect(first.last == "WATCHDOG=1")
    #expect(last.last == "STOPPING=1")
    #expect((first + last).filter { $0.hasPrefix("READY=1") }.count <= 1)
  }

  @Test func `listens to what is meant for it alone`() {
    func watchdog(_ environment: [String: String]) -> Duration? {
      ServiceNotice(environment: environment, process: 7).watchdog
    }
    let socket = ["NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "1000000"]
    #expect(watchdog(socket) == .seconds(1))
    #expect(watchdog(socket.merging(["WATCHDOG_PID": "7"]) { $1 }) == .seconds(1))
    #expect(watchdog(socket.merging(["WATCHDOG_PID": "8"]) { $1 }) == nil)
    #expect(watchdog(socket.merging(["WATCHDOG_USEC": "soon"]) { $1 }) == nil)
    #expect(watchdog(["WATCHDOG_USEC": "1000000"]) == nil)
    #expect(watchdog(socket.merging(["NOTIFY_SOCKET": "tcp:1"]) { $1 }) == nil)
  }

  @Test func `dates its lines unless the journal does`() throws {
    var status = stat()
    try #require(fstat(STDERR_FILENO, &status) == 0)
    let name = "\(status.st_dev):\(status.st_ino)"
    #expect(JournalStream.names(STDERR_FILENO, in: name))
    #expect(!JournalStream.names(STDERR_FILENO, in: name + "1"))
    #expect(!JournalStream.names(STDERR_FILENO, in: nil))
  }
}
