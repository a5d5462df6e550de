import Foundation
import Testing

@testable import FlotillaCommand

@Suite struct `What is installed` {
  private let top = `The unit of a database`.top

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
