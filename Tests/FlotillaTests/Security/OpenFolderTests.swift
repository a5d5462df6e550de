import CLinux
import Foundation
import Glibc
import Testing

@testable import Flotilla

/// What another user of the machine may put in the place of the folder beside a database.
@Suite struct `The folder beside a database, in whose place a link stands` {
  private func with(_ body: (_ sidecar: Sidecar, _ other: String) throws -> Void) throws {
    let top = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString)"
    let other = top + "/other"
    let files = FileManager.default
    try files.createDirectory(atPath: other + "/keys/deep", withIntermediateDirectories: true)
    defer { try? files.removeItem(atPath: top) }
    for name in ["node.json", "ledger", "socket", "stopped", "keys/node.key", "keys/deep/x"] {
      #expect(files.createFile(atPath: "\(other)/\(name)", contents: Data("x".utf8)))
      chmod("\(other)/\(name)", 0o644)
    }
    chmod(other, 0o755)
    #expect(files.createFile(atPath: top + "/a.db", contents: nil))
    try body(Sidecar(database: top + "/a.db"), other)
  }

  private func content(_ folder: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
  }

  private func mode(_ path: String) -> mode_t {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }

  @Test func `loses nothing to what is taken back, given up, set aside or removed`() throws {
    try with { sidecar, other in
      #expect(symlink(other, sidecar.folder) == 0)
      let before = try content(other)
      sidecar.takeBack()
      sidecar.giveUp()
      sidecar.forgetSocket()
      sidecar.forgetStop()
      #expect(throws: FlotillaError.self) { try OwnFolder.setAside(sidecar.folder + "/keys") }
      KeyFolder(sidecar).closeToOthers()
      #expect(mode(other) == 0o755 && mode(other + "/keys/node.key") == 0o644)
      sidecar.remove()
      #expect(try content(other) == before)
      #expect(!OwnFolder.isThere(sidecar.folder))
    }
  }

  @Test func `changes no file that a link in it leads to, and closes its own`() throws {
    try with { sidecar, other in
      let files = FileManager.default
      try files.createDirectory(atPath: sidecar.folder + "/keys", withIntermediateDirectories: true)
      chmod(sidecar.folder, 0o755)
      let keys = sidecar.folder + "/keys"
      #expect(files.createFile(atPath: keys + "/node.key", contents: nil))
      chmod(keys + "/node.key", 0o644)
      #expect(symlink(other + "/keys/node.key", keys + "/site.key") == 0)
      #expect(mkfifo(keys + "/invitations.json", 0o644) == 0)
      KeyFolder(sidecar).closeToOthers()
      #expect(mode(sidecar.folder) == 0o700 && mode(keys) == 0o700)
      #expect(mode(keys + "/node.key") == 0o600)
      #expect(mode(other + "/keys/node.key") == 0o644)
    }
  }

  @Test func `goes as a whole, and links in it leave what they lead to`() throws {
    try with { sidecar, other in
      try FileManager.default.copyItem(atPath: other, toPath: sidecar.folder)
      #expect(symlink(other, sidecar.folder + "/keys/deep/link") == 0)
      let before = try content(other)
      try OwnFolder.setAside(sidecar.folder + "/keys")
      try OwnFolder.setAside(sidecar.folder + "/keys")
      #expect(OwnFolder.isThere(sidecar.folder + "/keys.old/deep/link"))
      sidecar.takeBack()
      #expect(!OwnFolder.isThere(sidecar.folder + "/node.json"))
      sidecar.remove()
      #expect(!OwnFolder.isThere(sidecar.folder))
      #expect(try content(other) == before)
    }
  }
}
