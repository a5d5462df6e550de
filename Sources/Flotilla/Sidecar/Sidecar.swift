import CLinux
import FoundationEssentials
import Glibc
import Store
import Synchronization

/// The folder `DB-flotilla/` beside the database: what belongs to this copy on this machine.
struct Sidecar: Sendable {
  /// What is remembered there.
  struct Record: Codable, Equatable {
    /// The node whose folder this is.
    var node: String
    /// The port that was bound last.
    var port: UInt16?
    /// Whether the site key was written down somewhere else.
    var isSiteKeyExported: Bool?
    /// The machine on which the database was last written, and which file it was.
    var machine: Machine?
    var file: FileMark?
  }

  /// A file, whatever its name: another one in its place was made at another time.
  ///
  /// The number of its inode would say the same, but on FAT and others that is made up anew at each
  /// mount.
  struct FileMark: Codable, Equatable {
    /// When it was made, in ns since 1970; 0 where the file system does not say.
    let birth: Int64

    init(path: String) { self.birth = max(0, flotilla_birth(path)) }

    func isSame(as other: FileMark) -> Bool {
      birth == 0 || other.birth == 0 || birth == other.birth
    }
  }

  /// The absolute path of the database.
  let database: String
  let folder: String

  init(database path: String) {
    self.database = Self.absolute(path)
    self.folder = self.database + "-flotilla"
  }

  /// The real path of a file; of its folder and name if it does not exist yet. A link counts for
  /// what it leads to, as SQLite follows it, also where nothing is there yet.
  static func absolute(_ path: String, following most: Int = 40) -> String {
    if let real = realpath(path, nil) {
      defer { free(real) }
      return String(cString: real)
    }
    let url = URL(fileURLWithPath: path)
    guard let folder = realpath(url.deletingLastPathComponent().path, nil) else {
      return url.path
    }
    defer { free(folder) }
    let base = String(cString: folder) == "/" ? "" : String(cString: folder)
    let place = base + "/" + url.lastPathComponent
    guard most > 0, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: place)
    else { return place }
    return absolute(target.hasPrefix("/") ? target : base + "/" + target, following: most - 1)
  }

  /// The folder in which a file is, by its absolute path.
  static func folder(of file: String) -> String {
    let folder = file.prefix(upTo: file.lastIndex(of: "/") ?? file.startIndex)
    return folder.isEmpty ? "/" : String(folder)
  }

  var exists: Bool { FileManager.default.fileExists(atPath: recordPath) }
  /// Where a node in the background writes what it has to say.
  var logPath: String { folder + "/node.log" }
  private var recordPath: String { folder + "/node.json" }
  /// How far this replica has written, noted outside of it.
  var ledgerPath: String { folder + "/ledger" }
  private var lockPath: String { folder + "/lock" }

  /// Makes the folder, for its owner alone; false if it was there. Then keys that are in it are set
  /// aside, for there may be no others of their site.
  @discardableResult
  func create(node: String) throws(FlotillaError) -> Bool {
    let isMade = try OwnFolder.make(folder, forOwnerOf: OwnFile.name(of: database))
    do {
      if !isMade { try OwnFolder.setAside(folder + "/keys") }
      try save(Record(node: node, port: nil))
    } catch {
      if isMade { remove() }
      throw error
    }
    return isMade
  }

  /// What is remembered. A file that cannot be read is neither missing nor damaged: nobody is told
  /// to give its node up.
  func record() throws(FlotillaError) -> Record {
    if access(recordPath, F_OK) == 0 || errno != ENOENT {
      let bytes: [UInt8]
      do throws(FlotillaError) {
        bytes = try ShortFile.read(recordPath)
      } catch {
        let (file, path) = (shellWord(recordPath), shellWord(database))
        throw FlotillaError(
          error.code, error.message,
          remedy: error.code == .readOnly
            ? "Run as the owner of the database; if the file is another user's: "
              + "sudo chown --reference=\(path) \(file)" : error.remedy)
      }
      if let record = try? JSONDecoder().decode(Record.self, from: Data(bytes)) { return record }
    }
    throw FlotillaError(
      .movedWithoutFolder, "\(recordPath) is missing or damaged",
      remedy: "Restore the folder \(folder), or: flotilla leave \(shellWord(database)) --force")
  }

  func save(_ record: Record) throws(FlotillaError) {
    let data: Data
    do {
      data = try JSONEncoder().encode(record)
    } catch {
      throw FlotillaError(.system, "cannot write \(recordPath): \(error)")
    }
    try SecretFile.write(Array(data), to: recordPath)
  }

  /// The folder is that of a node no more, though it is still there: without a ledger it may be
  /// written over.
  func giveUp() { removeFile(ledgerPath) }

  /// Takes away what `create` and the keys of that node have put into a folder that was there.
  func takeBack() {
    guard let place = OpenFolder(folder) else { return }
    place.removeAll("keys")
    place.remove(OwnFile.name(of: recordPath))
  }

  func remove() {
    guard let place = OpenFolder(Self.folder(of: folder)) else { return }
    place.removeAll(OwnFile.name(of: folder))
  }

  /// Removes a file of the folder.
  func removeFile(_ path: String) {
    guard let place = OpenFolder(folder) else { return }
    place.remove(OwnFile.name(of: path))
  }

  /// Takes the lock that one process at a time holds; nil if another one has it.
  func lock() throws(FlotillaError) -> FileLock? {
    let descriptor = OwnFile.open(lockPath, O_RDWR)
    guard descriptor >= 0 else {
      guard errno == ENOENT else { throw FlotillaError.file("cannot open \(lockPath)") }
      throw FlotillaError(
        .movedWithoutFolder, "the folder \(folder) is missing",
        remedy: "Put it back beside the database, or start over with: flotilla leave "
          + "\(shellWord(database)) --force")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      return nil
    }
    return FileLock(descriptor)
  }

  /// The process that has the lock, as far as it can be known.
  var holder: pid_t? { LockHolder(of: lockPath)?.process }
}

/// Held while this process is the one that writes Flotilla's tables; at the latest released with
/// the object.
final class FileLock: Sendable {
  /// Negative once it is released.
  private let descriptor: Atomic<Int32>

  init(_ descriptor: Int32) { self.descriptor = Atomic(descriptor) }

  func release() {
    let held = descriptor.exchange(-1, ordering: .relaxed)
    if held >= 0 { close(held) }
  }

  deinit { release() }
}
