import Foundation
import Glibc
import Store
import Testing

@testable import Flotilla

/// Files that are made where others may rename and make files, too.
@Suite struct `A folder that was opened` {
  /// A folder for one test.
  private func within(_ body: (String) throws -> Void) throws {
    let folder = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(folder)
  }

  private func names(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }

  @Test func `is the same one when its name leads elsewhere`() throws {
    try within { folder in
      let (own, trap) = (folder + "/own", folder + "/trap")
      for path in [own, trap] { mkdir(path, 0o700) }
      try Data("precious".utf8).write(to: URL(filePath: trap + "/new"))
      guard let place = OpenFolder(own) else { throw POSIXError(.ENOENT) }
      rename(own, folder + "/moved")
      symlink("trap", own)
      let file = place.open("new", O_WRONLY)
      #expect(file >= 0)
      close(file)
      let isMade = place.makeFolder("keys", forOwnerOf: ".") == 0
      let isRenamed = place.rename("new", to: "next")
      let isRemoved = place.remove("next")
      #expect(isMade && isRenamed && isRemoved)
      #expect(try names(folder + "/moved") == ["keys"] && names(trap) == ["new"])
      // Whoever opens it now is refused, and so is a file that would be made in it.
      #expect(OwnFile.open(own + "/other", O_WRONLY) < 0 && errno == ELOOP)
      let error = #expect(throws: FlotillaError.self) {
        try SecretFile.write([1], to: own + "/new")
      }
      #expect(error?.code == .permissions)
      #expect(try String(contentsOfFile: trap + "/new", encoding: .utf8) == "precious")
    }
  }

  @Test(.enabled(if: getuid() == 0, "only root can give a file away"))
  func `gives what is made in it to its owner`() throws {
    try within { folder in
      try Data().write(to: URL(filePath: folder + "/a.db"))
      chown(folder + "/a.db", 65_534, 65_534)
      #expect(try OwnFolder.make(folder + "/a.db-flotilla", forOwnerOf: "a.db"))
      #expect(try !OwnFolder.make(folder + "/a.db-flotilla", forOwnerOf: "a.db"))
      try SecretFile.write([1], to: folder + "/a.db-flotilla/node.json")
      for name in ["a.db-flotilla", "a.db-flotilla/node.json"] {
        let owner = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
        #expect(owner[.ownerAccountID] as? Int == 65_534)
      }
      // Files in a folder of root's are root's.
      try SecretFile.write([1], to: folder + "/b")
      let owner = try FileManager.default.attributesOfItem(atPath: folder + "/b")
      #expect(owner[.ownerAccountID] as? Int == 0)
    }
  }

  @Test func `takes a file that a person names, whatever its length and whoever is in the way`()
    throws
  {
    try within { folder in
      mkdir(folder + "/.out.flotilla-new", 0o700)
      mkdir(folder + "/.out.flotilla-new/full", 0o700)
      symlink(".", folder + "/link")
      let long = String(repeating: "a", count: 255)
      for name in ["out", long, "link/out"] {
        try SecretFile.write([1, 2], toNamed: folder + "/" + name)
        #expect(try Data(contentsOf: URL(filePath: folder + "/" + name)) == Data([1, 2]))
      }
      #expect(try names(folder) == [".out.flotilla-new", long, "link", "out"])
      let error = #expect(throws: FlotillaError.self) {
        try SecretFile.write([1], toNamed: folder + "/a" + long)
      }
      #expect(error?.remedy == "Use a shorter file name.")
    }
  }

  @Test func `counts as written where nobody can have its names on disk`() {
    for code in [EINVAL, EACCES, EBADF, ENOSYS, EROFS] { #expect(!OpenFolder.isFailure(code)) }
    for code in [EIO, ENOSPC, EDQUOT] { #expect(OpenFolder.isFailure(code)) }
  }
}
