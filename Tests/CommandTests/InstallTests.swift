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
}
