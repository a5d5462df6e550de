import Foundation
import Testing

@testable import FlotillaCommand

@Suite(.enabled(if: access("/usr/bin/make", X_OK) == 0, "there is no make here"))
struct `What is installed` {
  private let top = `The unit of a database`.top

  /// The files below a folder, by their paths in it.
  private func files(_ folder: Folder) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: folder.url.path).filter {
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(
        atPath: folder.url.path + "/" + $0, isDirectory: &isFolder) && !isFolder.boolValue
    }
  }

  private func make(_ folder: Folder, _ words: String...) throws -> String {
    try folder.run("/usr/bin/make", ["--no-print-directory", "-C", top] + words)
  }

  @Test(arguments: ["/usr/local", "/usr", "/opt/a b"])
  func `is taken away again, and nothing else`(prefix: String) throws {
    let folder = try Folder()
    defer { folder.remove() }
    let root = folder.url.path
    let pages = "\(root)\(prefix)/share/man/man1"
    try FileManager.default.createDirectory(atPath: pages, withIntermediateDirectories: true)
    try Data().write(to: URL(filePath: pages + "/sqlite3.1"))
    let before = try files(folder)
    try folder.run(
      top + "/scripts/packaging/stage.sh", [folder.products + "/flotilla", root, prefix])
    let installed = try files(folder)
    #expect(installed.contains(String((prefix + "/bin/flotilla").dropFirst())))
    #expect(installed.contains { $0.hasSuffix("systemd/system/flotilla@.service") })
    #expect(installed.contains { $0.hasSuffix("man1/flotilla-leave.1") })
    _ = try make(folder, "uninstall", "PREFIX=\(prefix)", "DESTDIR=\(root)")
    #expect(try files(folder) == before)
  }

  /// Pages lead to one another, say nothing that is for who makes Flotilla, and are found.
  @Test func `has pages for who uses it, and names their folder`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let root = folder.url.path
    try folder.run(
      top + "/scripts/packaging/stage.sh", [folder.products + "/flotilla", root, "/usr"])
    let pages = "\(root)/usr/share/doc/flotilla"
    let names = try files(folder).map { root + "/" + $0 }
      .filter { $0.hasPrefix(pages) && $0.hasSuffix(".md") }
    #expect(names.count > 40)
    for name in names {
      let text = try String(contentsOfFile: name, encoding: .utf8)
      #expect(!text.contains("<!--"), "\(name)")
      let place = URL(filePath: name).deletingLastPathComponent()
      for link in text.matches(of: /\]\(([^)#:\s]+)(#[^)]*)?\)/) {
        let path = place.appending(path: String(link.1)).standardized.path
        #expect(access(path, F_OK) == 0, "\(name): \(link.1)")
      }
    }
    let readme = try String(contentsOfFile: pages + "/README.md", encoding: .utf8)
    #expect(!readme.contains("No package is published") && !readme.contains("make "))
    #expect(readme.contains("take the [tour](docs/tour.md)"))
    let said = try folder.run(root + "/usr/bin/flotilla", ["help", "rules"])
    #expect(said.hasSuffix("More: \(pages)/docs/rules.md\n"), "\(said)")
    let built = try folder.flotilla("help", "docs")
    #expect(built.hasSuffix("More: docs/README.md\n"), "\(built)")
  }

  @Test func `goes to PREFIX in DESTDIR, and is looked for there`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    #expect(try make(folder, "-n", "uninstall").contains(#"--remove "" "/usr/local""#))
    for target in ["install", "uninstall"] {
      let said = try make(folder, "-n", target, "PREFIX=/opt/x", "DESTDIR=/image")
      #expect(said.contains(#""/image" "/opt/x""#), "\(said)")
    }
  }

  /// `ExecStart=` of the unit, with the words that RUN_OPTIONS brings.
  @Test func `is a unit that serves further databases if RUN_OPTIONS names them`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    let unit = try String(
      contentsOfFile: top + "/scripts/packaging/flotilla@.service", encoding: .utf8)
    let line = try #require(unit.split(separator: "\n").first { $0.hasPrefix("ExecStart=") })
    let root = folder.url.path
    let command = line.dropFirst("ExecStart=".count)
      .replacingOccurrences(of: "@bindir@", with: folder.products)
      .replacingOccurrences(of: "%f", with: root + "/clinic.db")
      .replacingOccurrences(of: "$RUN_OPTIONS", with: root + "/stock.db")
    for name in ["clinic.db", "stock.db"] { try folder.flotilla("init", name) }
    let only = ["--no-discovery", "--listen", "127.0.0.1:0", "--background"]
    defer {
      for name in ["clinic.db", "stock.db"] {
        _ = try? folder.run("/bin/sh", ["-c", "flotilla stop \(name) 2>/dev/null; true"])
      }
    }
    try folder.run("/usr/bin/env", command.split(separator: " ").map(String.init) + only)
    for name in ["clinic.db", "stock.db"] {
      #expect(try folder.flotilla("status", name, "--json").contains(#""running":true"#))
    }
    // Both lie in the one folder that the settings of the unit let it write to.
    let settings = ServiceUnit(database: root + "/clinic.db", user: "a", group: "a").settings
    #expect(settings.contains("ReadWritePaths=\"\(root)\"\n"))
  }

  /// Folders of a system that runs, seen by what is started here alone.
  private static let system = """
    mount -t tmpfs none /run && mkdir -p /run/systemd/system && mount -t tmpfs none /etc/systemd \
      && mkdir -p /etc/systemd/system/multi-user.target.wants
    """
  private static let hasSystem: Bool = {
    guard getuid() == 0, access("/usr/bin/unshare", X_OK) == 0 else { return false }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/unshare")
    process.arguments = ["-m", "sh", "-c", system]
    process.standardError = FileHandle.nullDevice
    try? process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  @Test(.enabled(if: hasSystem, "only root can have folders of a system of its own"))
  func `starts the nodes that start with the machine, also after a removal`() throws {
    let folder = try Folder()
    defer { folder.remove() }
    // Programs that say how they were called, and change nothing.
    for name in ["systemctl", "systemd-sysusers", "systemd-tmpfiles"] {
      let text = "#!/bin/sh\necho ${0##*/} \"$@\"\ntest \"$1\" != start\n"
      try text.write(toFile: folder.url.path + "/" + name, atomically: true, encoding: .utf8)
      chmod(folder.url.path + "/" + name, 0o755)
    }
    let script = """
      \(Self.system)
      cd /etc/systemd/system/multi-user.target.wants
      ln -s /lib/systemd/system/flotilla@.service flotilla@srv-a.db.service
      ln -s /lib/systemd/system/flotilla@.service 'flotilla@srv-my\\x20b.db.service'
      PATH=\(folder.url.path):$PATH exec sh \(top)/scripts/packaging/postinst configure 0.1.0
      """
    let said = try folder.run("/usr/bin/unshare", ["-m", "sh", "-c", script])
    #expect(
      said.split(separator: "\n").filter { $0.hasPrefix("systemctl") } == [
        "systemctl --system daemon-reload", "systemctl reset-failed flotilla@*.service",
        "systemctl try-restart flotilla@*.service", "systemctl start flotilla@srv-a.db.service",
        #"systemctl start flotilla@srv-my\x20b.db.service"#,
      ], "\(said)")
  }
}
