import Glibc

/// How fast this disk makes 4 KiB durable.
enum Disk {
  /// Has all that was written before really be on the disks, so that nobody is charged for it later
  /// (sync(2): "causes all pending modifications to filesystem metadata and cached file data to be
  /// written to the underlying filesystems").
  static func settle() { sync() }

  /// Appends 4 KiB and calls fdatasync, again and again; ms of each.
  static func syncTimes(in folder: String, count: Int) throws -> [Double] {
    let path = "\(folder)/sync"
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw BenchError("cannot create \(path)") }
    defer {
      close(file)
      unlink(path)
    }
    let page = [UInt8](repeating: 0x5A, count: 4_096)
    return try (0..<count).map { _ in
      Clock.sleep(.milliseconds(5))
      let start = Clock.now
      guard write(file, page, page.count) == page.count, fdatasync(file) == 0 else {
        throw BenchError("cannot write to \(path)")
      }
      return (Clock.now - start).milliseconds
    }
  }
}
