import CSQLite
import Glibc
import Replication

/// One process that uses a disk through SQLite: a VFS of its own, so that it can die alone.
///
/// A dead process's calls fail and change nothing; its locks are gone at once.
final class DiskProcess {
  /// What a call is about to do.
  enum Call {
    case write
    case sync
    case truncate
    case remove
    /// A lock of the WAL is taken: a transaction begins, or one that is over is copied back.
    case lock
  }

  /// What becomes of a call.
  enum Fate {
    case done
    case full
    case failed
    /// The process dies before the call has any effect, or just after.
    case deadBefore
    case deadAfter
  }

  private(set) var disk: Disk
  /// SQLite knows the process's disk under this name.
  let name: String
  /// Decides what becomes of a call; nil for a process that nothing happens to.
  var fate: ((Call) -> Fate)?
  /// Whether a call fails that changes nothing: a read, a lock of a file, a look at shared memory.
  var failsToRead: (() -> Bool)?
  /// The wall clock, in ms since 1970.
  var wall: Int64 = 0
  private(set) var isDead = false
  private var random: Seeded
  private let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
  private let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
  private var handles: [Int: DiskHandle] = [:]
  private var lastHandle = 0

  init(on disk: Disk, random: Seeded) {
    self.disk = disk
    self.random = random
    self.name = "flotilla-\(UInt(bitPattern: vfs))"
    methods.initialize(to: DiskCalls.methods)
    vfs.initialize(to: DiskCalls.vfs)
    vfs.pointee.zName = UnsafePointer(strdup(name))
    vfs.pointee.pAppData = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_vfs_register(vfs, 0)
  }

  /// Lets SQLite forget the disk; the owner has closed all connections before.
  deinit {
    sqlite3_vfs_unregister(vfs)
    free(UnsafeMutablePointer(mutating: vfs.pointee.zName))
    vfs.deallocate()
    methods.deallocate()
  }

  /// Goes on with another disk, of which it is the first user; it has no transaction open.
  func move(to disk: Disk, random: Seeded) {
    (self.disk, self.random, wall) = (disk, random, 0)
    for handle in handles.values { handle.move(to: disk) }
  }

  /// The process is gone: what it held is free.
  func die() {
    isDead = true
    for handle in handles.values { handle.release() }
  }

  /// Whether a call that changes nothing can be carried out.
  var canRead: Bool { !isDead && !(failsToRead?() ?? false) }

  /// Asks what becomes of a call, carries it out accordingly and gives SQLite's code.
  func perform(_ call: Call, failure: Int32, _ body: () -> Int32) -> Int32 {
    guard !isDead else { return failure }
    switch fate?(call) ?? .done {
    case .done: return body()
    case .full: return call == .lock || call == .remove ? failure : SQLITE_FULL
    case .failed: return failure
    case .deadBefore: die()
    case .deadAfter:
      _ = body()
      die()
    }
    return failure
  }

  func open(_ name: String?, _ flags: Int32) -> DiskHandle? {
    guard !isDead else { return nil }
    let file: Disk.File
    if let name {
      if let known = disk.file(name) {
        file = known
      } else if flags & SQLITE_OPEN_CREATE != 0 {
        file = disk.create(name)
      } else {
        return nil
      }
    } else {
      file = Disk.File()
    }
    lastHandle += 1
    // The number also tells processes apart, for locks.
    let handle = DiskHandle(file, name: name, number: lastHandle, of: self)
    handles[lastHandle] = handle
    return handle
  }

  func close(_ handle: DiskHandle) {
    handle.release()
    handles[handle.number] = nil
  }

  func fill(_ buffer: UnsafeMutableRawBufferPointer) {
    for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: random.next()) }
  }

  /// Points a file that SQLite has made room for to its methods.
  func attach(_ handle: DiskHandle, to file: UnsafeMutablePointer<sqlite3_file>) {
    let room = UnsafeMutableRawPointer(file).assumingMemoryBound(to: DiskFile.self)
    room.initialize(
      to: DiskFile(
        base: sqlite3_file(pMethods: UnsafePointer(methods)),
        handle: Unmanaged.passUnretained(handle).toOpaque()))
  }
}

/// What SQLite keeps of an open file: its own part first, as it demands.
struct DiskFile {
  var base: sqlite3_file
  var handle: UnsafeMutableRawPointer?
}

/// SQLite's codes for calls that failed: macros that Swift does not see (sqlite.org/rescode.html).
enum DiskFailure {
  static let read = SQLITE_IOERR | 1 << 8
  static let shortRead = SQLITE_IOERR | 2 << 8
  static let write = SQLITE_IOERR | 3 << 8
  static let sync = SQLITE_IOERR | 4 << 8
  static let truncate = SQLITE_IOERR | 6 << 8
  static let delete = SQLITE_IOERR | 10 << 8
  static let lock = SQLITE_IOERR | 15 << 8
  static let sharedLock = SQLITE_IOERR | 20 << 8
  static let sharedMap = SQLITE_IOERR | 21 << 8
}
