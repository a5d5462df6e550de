import Glibc

/// How fast this disk makes 4 KiB durable.
enum Disk {
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
