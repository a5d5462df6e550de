import CSQLite

/// A file that a process has open.
final class DiskHandle {
  private(set) var file: Disk.File
  let name: String?
  let number: Int
  /// Unique among all processes of the disk.
  private let holder: Int
  /// Outlives what it has open.
  let process: DiskProcess

  init(_ file: Disk.File, name: String?, number: Int, of process: DiskProcess) {
    self.file = file
    self.name = name
    self.number = number
    self.process = process
    self.holder = Int(bitPattern: ObjectIdentifier(process)) &* 65_536 &+ number
  }

  /// Finds the file of this name on another disk in the place of its own, and no WAL.
  ///
  /// SQLite keeps the addresses of the shared memory; what it has read of the file it drops when it
  /// sees that the memory is new.
  func move(to disk: Disk) {
    guard let name else { return }
    let old = file
    file = disk.file(name) ?? disk.create(name)
    if old.locks.isReader(holder) { _ = file.locks.raise(holder, to: SQLITE_LOCK_SHARED) }
    old.shared?.clear(for: holder)
    file.shared = old.shared
  }

  /// Gives back all locks.
  func release() {
    file.locks.lower(holder, to: SQLITE_LOCK_NONE)
    unmap()
  }

  private func unmap() {
    guard let shared = file.shared else { return }
    shared.leave(holder)
    // Who comes next begins with an empty index, and reads the WAL anew.
    if shared.isUnused { file.shared = nil }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
    guard process.canRead else { return DiskFailure.read }
    let count = max(0, min(buffer.count, file.bytes.count - offset))
    if count > 0 {
      file.bytes.withUnsafeBytes {
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count]))
      }
    }
    guard count < buffer.count else { return SQLITE_OK }
    UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).initializeMemory(
      as: UInt8.self, repeating: 0)
    return DiskFailure.shortRead
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
    process.perform(.write, failure: DiskFailure.write) {
      file.write(bytes, at: offset, keeps: process.disk.canLosePower && name != nil)
      return SQLITE_OK
    }
  }

  func truncate(to size: Int) -> Int32 {
    process.perform(.truncate, failure: DiskFailure.truncate) {
      file.truncate(to: size)
      return SQLITE_OK
    }
  }

  func sync() -> Int32 {
    process.perform(.sync, failure: DiskFailure.sync) {
      if process.disk.canLosePower { process.disk.sync(file, isNamed: name != nil) }
      return SQLITE_OK
    }
  }

  func lock(_ level: Int32) -> Int32 {
    guard process.canRead else { return DiskFailure.lock }
    return file.locks.raise(holder, to: level) ? SQLITE_OK : SQLITE_BUSY
  }

  func unlock(_ level: Int32) -> Int32 {
    if !process.isDead { file.locks.lower(holder, to: level) }
    return SQLITE_OK
  }

  func map(
    _ region: Int, size: Int, extends: Bool
  ) -> (code: Int32, region: UnsafeMutableRawPointer?) {
    guard process.canRead else { return (DiskFailure.sharedMap, nil) }
    let shared = file.shared ?? SharedMemory()
    file.shared = shared
    return (SQLITE_OK, shared.region(region, size: size, extends: extends, for: holder))
  }

  func lockShared(_ range: Range<Int>, _ flags: Int32) -> Int32 {
    guard !process.isDead, let shared = file.shared else { return DiskFailure.sharedLock }
    if flags & SQLITE_SHM_UNLOCK != 0 {
      _ = shared.lock(range, flags: flags, by: holder)
      return SQLITE_OK
    }
    return process.perform(.lock, failure: DiskFailure.sharedLock) {
      shared.lock(range, flags: flags, by: holder) ? SQLITE_OK : SQLITE_BUSY
    }
  }

  func unmapShared() { if !process.isDead { unmap() } }
}
