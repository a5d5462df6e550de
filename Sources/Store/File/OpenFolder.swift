import Glibc

/// A folder that was opened once: whoever gives its name to another one meanwhile, what is made,
/// renamed and removed through it is in the folder that was opened.
package struct OpenFolder: ~Copyable {
  private let descriptor: Int32

  /// Opens a folder; nil, with the reason in `errno`, if that fails. A link is none: `ELOOP`.
  package init?(_ path: String) { self.init(path, O_NOFOLLOW) }

  /// The same where a person says which folder: a link counts for what it leads to.
  package init?(named path: String) { self.init(path, 0) }

  private init?(_ path: String, _ link: Int32) {
    let flags = link | O_DIRECTORY | O_CLOEXEC
    var found = Glibc.open(path, flags | O_RDONLY)
    // Where names may be written and not read.
    if found < 0, errno == EACCES { found = Glibc.open(path, flags | Self.pathOnly) }
    if found < 0, errno == ENOTDIR, link != 0 { errno = ELOOP }
    guard found >= 0 else { return nil }
    descriptor = found
  }

  /// A folder in this one.
  package func folder(_ name: String) -> OpenFolder? { OpenFolder(self, name) }

  private init?(_ outer: borrowing OpenFolder, _ name: String) {
    let flags = O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC | O_RDONLY
    let found = openat(outer.descriptor, name, flags)
    guard found >= 0 else { return nil }
    descriptor = found
  }

  /// `O_PATH`, which the module of the C library leaves out.
  private static let pathOnly: Int32 = 0o10_000_000

  deinit { close(descriptor) }

  /// Opens a file in it, or makes it for the owner of the folder alone; negative, with the reason
  /// in `errno`, if that fails.
  ///
  /// Only what this call has made changes its owner. What was there is opened if it is a file, and
  /// no link: root would write where the owner of the folder has no right to. `ELOOP` says so.
  package func open(_ name: String, _ flags: Int32) -> Int32 {
    let made = create(name, flags)
    if made >= 0, geteuid() == 0, let owner = owner() { Self.give(made, to: owner) }
    guard made < 0, errno == EEXIST, flags & O_EXCL == 0 else { return made }
    return existing(name, flags)
  }

  /// Opens a file that is there, and no link; negative, with the reason in `errno`, if that fails.
  package func existing(_ name: String, _ flags: Int32) -> Int32 {
    // Without O_NONBLOCK a FIFO that nobody reads would keep this call for ever.
    let found = openat(descriptor, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard found >= 0 else { return found }
    var status = stat()
    guard fstat(found, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(found)
      errno = ELOOP
      return -1
    }
    return found
  }

  /// Makes a file, for who runs this; negative, with the reason in `errno`, if that fails.
  package func create(_ name: String, _ flags: Int32) -> Int32 {
    openat(descriptor, name, flags | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
  }

  /// Makes a folder in it, for the owner of what has the name `neighbour` there: "." is the folder
  /// itself. Negative, with the reason in `errno`, if that fails.
  package func makeFolder(_ name: String, forOwnerOf neighbour: String) -> Int32 {
    guard mkdirat(descriptor, name, 0o700) == 0 else { return -1 }
    let made = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    defer { if made >= 0 { close(made) } }
    var status = stat()
    // Another one may have been put in its place.
    if geteuid() == 0, made >= 0, fstat(made, &status) == 0, status.st_uid == 0,
      let owner = self.status(of: neighbour)
    {
      Self.give(made, to: owner)
    }
    return 0
  }

  /// What is there by a name, not what a link of that name leads to.
  package func status(of name: String) -> stat? {
    var status = stat()
    return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
  }

  private func owner() -> stat? {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? status : nil
  }

  /// Only root can give something away; from anybody else it is the owner's already, or nobody's
  /// business. On FAT and others all files have one owner, so a failure is none.
  private static func give(_ descriptor: Int32, to owner: stat) {
    _ = fchown(descriptor, owner.st_uid, owner.st_gid)
  }

  /// False, with the reason in `errno`, if it fails; so are the next ones.
  package func rename(_ name: String, to other: String) -> Bool {
    renameat(descriptor, name, descriptor, other) == 0
  }

  /// Puts a file of it in the place of one in another folder.
  package func move(_ name: String, to other: borrowing OpenFolder, as newName: String) -> Bool {
    renameat(descriptor, name, other.descriptor, newName) == 0
  }

  @discardableResult
  package func remove(_ name: String) -> Bool { unlinkat(descriptor, name, 0) == 0 }

  @discardableResult
  package func removeFolder(_ name: String) -> Bool {
    unlinkat(descriptor, name, AT_REMOVEDIR) == 0
  }

  /// Removes what has the name, and a folder with all that is in it. Of a link goes the link.
  @discardableResult
  package func removeAll(_ name: String) -> Bool {
    if remove(name) { return true }
    guard errno == EISDIR, let inner = folder(name) else { return false }
    for one in inner.names { inner.removeAll(one) }
    return removeFolder(name)
  }

  /// What is in it.
  private var names: [String] {
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { return [] }
    guard let list = fdopendir(copy) else {
      close(copy)
      return []
    }
    defer { closedir(list) }
    var names: [String] = []
    while let entry = readdir(list) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Has a file or folder be read by its owner alone, if that is `owner`: root would do it to a
  /// file of its own that somebody has linked here.
  package func closeToOthers(_ name: String, of owner: uid_t) {
    // Without O_PATH a FIFO would wait for who writes, and an owner may not read his file.
    let found = openat(descriptor, name, Self.pathOnly | O_NOFOLLOW | O_CLOEXEC)
    guard found >= 0 else { return }
    defer { close(found) }
    var status = stat()
    guard fstat(found, &status) == 0, status.st_uid == owner else { return }
    let modes: [mode_t: mode_t] = [S_IFREG: 0o600, S_IFDIR: 0o700]
    // "fchmod() fails with EBADF" for such a descriptor (open(2)); this is the same file.
    if let mode = modes[status.st_mode & S_IFMT] { chmod("/proc/self/fd/\(found)", mode) }
  }

  /// Has the names in it on disk: without that a power cut may bring back what was replaced.
  ///
  /// "Calling fsync() does not necessarily ensure that the entry in the directory containing the
  /// file has also reached disk" (fsync(2)). Only a disk that fails, or is full, is a failure:
  /// where a file system has no such call, or no right to it is given, nobody can do more.
  package func sync() -> Bool { fsync(descriptor) == 0 || !Self.isFailure(errno) }

  package static func isFailure(_ code: Int32) -> Bool { [EIO, ENOSPC, EDQUOT].contains(code) }
}
