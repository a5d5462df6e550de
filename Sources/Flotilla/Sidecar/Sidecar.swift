import CLinux
import Foundation
import Glibc
import Synchronization

/// The folder `DB-flotilla/` beside the database: what belongs to this copy on this machine.
struct Sidecar: Sendable {
  /// What is remembered there.
  struct Record: Codable, Equatable {
    /// The node whose folder this is.
    var node: String
    /// The port that was bound last.
    var port: UInt16?
  }

  /// The absolute path of the database.
  let database: String
  let folder: String

  init(database path: String) {
    self.database = Self.absolute(path)
    self.folder = self.database + "-flotilla"
  }

  /// The real path of a file; of its folder and name if it does not exist yet.
  static func absolute(_ path: String) -> String {
    if let real = realpath(path, nil) {
      defer { free(real) }
      return String(cString: real)
    }
    let url = URL(fileURLWithPath: path)
    guard let folder = realpath(url.deletingLastPathComponent().path, nil) else {
      return url.path
    }
    defer { free(folder) }
    let base = String(cString: folder)
    return (base == "/" ? "" : base) + "/" + url.lastPathComponent
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
  private var lockPath: String { folder + "/lock" }

  /// Makes the folder, for its owner alone.
  func create(node: String) throws(FlotillaError) {
    if mkdir(folder, 0o700) != 0, errno != EEXIST {
      throw failure("cannot make the folder \(folder)")
    }
    try save(Record(node: node, port: nil))
  }

  func record() throws(FlotillaError) -> Record {
    do {
      let data = try Data(contentsOf: URL(fileURLWithPath: recordPath))
      return try JSONDecoder().decode(Record.self, from: data)
    } catch {
      throw FlotillaError(
        .movedWithoutFolder, "\(recordPath) is missing or damaged",
        remedy: "Restore the folder \(folder), or: flotilla leave \(database) --force")
    }
  }

  func save(_ record: Record) throws(FlotillaError) {
    let data: Data
    do {
      data = try JSONEncoder().encode(record)
    } catch {
      throw FlotillaError(.system, "cannot write \(recordPath): \(error)")
    }
    let path = recordPath + ".new"
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure("cannot write \(path)") }
    let count = data.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    // The new name may reach the disk before the bytes do; then a power cut would leave an empty
    // file beside a database that is committed.
    guard count == data.count, fsync(descriptor) == 0 else {
      let error = failure("cannot write \(path)")
      close(descriptor)
      throw error
    }
    close(descriptor)
    guard rename(path, recordPath) == 0 else { throw failure("cannot write \(recordPath)") }
  }

  func remove() {
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// Takes the lock that one process at a time holds; nil if another one has it.
  func lock() throws(FlotillaError) -> FileLock? {
    let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure("cannot open \(lockPath)") }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      return nil
    }
    return FileLock(descriptor)
  }

  /// The process that has the lock, as far as it can be known.
  var holder: pid_t? { LockHolder(of: lockPath)?.process }

  private func failure(_ what: String) -> FlotillaError {
    let reason = String(cString: strerror(errno))
    switch errno {
    case EACCES, EROFS, EPERM:
      return FlotillaError(
        .readOnly, "\(what): \(reason)",
        remedy: "Run as the owner of the database; its folder must be writable.")
    case ENOSPC, EDQUOT:
      return FlotillaError(.diskFull, "\(what): \(reason)", remedy: "Make room and try again.")
    case ENAMETOOLONG:
      return FlotillaError(.usage, "\(what): \(reason)", remedy: "Use a shorter file name.")
    default: return FlotillaError(.system, "\(what): \(reason)")
    }
  }
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
