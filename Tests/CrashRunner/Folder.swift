import Glibc

/// The places of one run: snapshots and workplaces in a folder of its own.
struct Folder {
  let path: String

  /// A new folder in memory if there is any, for only processes are killed here, not the machine.
  init() throws {
    let base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
    // What a runner that was ended has left.
    for name in Self.names(base) where name.hasPrefix("flotilla-crash-") {
      if let process = pid_t(name.dropFirst(15)), kill(process, 0) != 0, errno == ESRCH {
        Self.remove("\(base)/\(name)")
      }
    }
    path = "\(base)/flotilla-crash-\(getpid())"
    guard mkdir(path, 0o700) == 0 else { throw CrashFailure("cannot make \(path)") }
  }

  func snapshot(_ index: Int) -> String { "\(path)/s\(index)" }

  func workplace(_ worker: Int) -> String { "\(path)/w\(worker)" }

  func remove() { Self.remove(path) }

  /// Makes `target` a copy of `source`, but for the shared memory of killed processes.
  static func copy(_ source: String, to target: String) throws {
    remove(target)
    guard mkdir(target, 0o700) == 0 else { throw CrashFailure("cannot make \(target)") }
    for name in names(source) where !name.hasSuffix("-shm") {
      let (from, to) = ("\(source)/\(name)", "\(target)/\(name)")
      if isFolder(from) { try copy(from, to: to) } else { try copyFile(from, to: to) }
    }
  }

  private static func isFolder(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  static func remove(_ path: String) {
    for name in names(path) { remove("\(path)/\(name)") }
    if unlink(path) != 0 { rmdir(path) }
  }

  static func names(_ path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  private static func copyFile(_ source: String, to target: String) throws {
    let from = open(source, O_RDONLY)
    let to = open(target, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer {
      close(from)
      close(to)
    }
    guard from >= 0, to >= 0 else { throw CrashFailure("cannot copy \(source)") }
    while true {
      let count = sendfile(to, from, nil, 1 << 20)
      guard count >= 0 else { throw CrashFailure("cannot copy \(source)") }
      if count == 0 { return }
    }
  }
}
