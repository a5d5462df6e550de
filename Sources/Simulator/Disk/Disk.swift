import Replication

/// The disk of one machine, in memory: files, what of them is safe from a power cut, and the
/// memory that processes share.
///
/// Writes are in the file at once, for every process that reads it, and on the platter after a
/// sync; a power cut keeps any part of the others, by whole sectors.
final class Disk {
  /// SQLite relies on no smaller unit ("powersafe overwrite", sqlite.org/psow.html).
  static let sector = 512

  /// One file.
  final class File {
    /// What a process reads.
    var bytes: [UInt8] = []
    /// What a power cut leaves at least; nil if not even the name is safe.
    var platter: [UInt8]?
    /// Writes since then.
    var unsynced: [(offset: Int, bytes: [UInt8])] = []
    /// Whether the file has been cut since then.
    private var isCut = false
    var locks = FileLocks()
    var shared: SharedMemory?

    func write(_ new: UnsafeRawBufferPointer, at offset: Int, keeps: Bool) {
      let end = offset + new.count
      if bytes.count < offset { bytes += repeatElement(0, count: offset - bytes.count) }
      if bytes.count == offset {
        bytes.append(contentsOf: new)
      } else {
        if bytes.count < end { bytes += repeatElement(0, count: end - bytes.count) }
        bytes.withUnsafeMutableBytes {
          UnsafeMutableRawBufferPointer(rebasing: $0[offset..<end]).copyMemory(from: new)
        }
      }
      if keeps { unsynced.append((offset, Array(new))) }
    }

    func truncate(to size: Int) {
      guard size < bytes.count else { return }
      bytes.removeSubrange(size...)
      isCut = true
    }

    /// What is left of the file is all that there is.
    func settle(as left: [UInt8]) {
      (bytes, platter) = (left, nil)
      sync()
    }

    /// The platter has bytes of its own: shared ones would be copied as a whole by the next write.
    func sync() {
      if var safe = platter.take(), !isCut {
        for write in unsynced { Disk.put(write.bytes[...], at: write.offset, in: &safe) }
        platter = safe
      } else {
        platter = Array(unsafeUninitializedCapacity: bytes.count) { room, count in
          count = bytes.count
          _ = room.initialize(from: bytes)
        }
      }
      (unsynced, isCut) = ([], false)
    }
  }

  private(set) var files: [String: File] = [:]
  /// What was removed since its folder was synced: a power cut may bring it back.
  private var removed: [String: File] = [:]
  /// Whether it is remembered what a power cut may take.
  let canLosePower: Bool

  init(canLosePower: Bool) { self.canLosePower = canLosePower }

  func file(_ name: String) -> File? { files[name] }

  func create(_ name: String) -> File {
    let file = File()
    files[name] = file
    return file
  }

  /// Removes a file; that is safe from a power cut once the folder is synced.
  func remove(_ name: String, syncsFolder: Bool) {
    let file = files.removeValue(forKey: name)
    if syncsFolder {
      removed = [:]
    } else if canLosePower, file?.platter != nil {
      removed[name] = file
    }
  }

  /// Makes a file safe; with a new one SQLite syncs the folder that it is in.
  func sync(_ file: File, isNamed: Bool) {
    if isNamed, file.platter == nil { removed = [:] }
    file.sync()
  }

  /// Puts a finished file there, as from a copy.
  func install(_ bytes: [UInt8], as name: String) {
    let file = create(name)
    removed[name] = nil
    file.bytes = bytes
    file.platter = bytes
  }

  /// Power is gone: every file is what was synced, and any part of what was not.
  func cutPower(_ random: inout Seeded) {
    // Drawn apart: it changes nothing else.
    var draws = random
    var returns = draws.fork()
    for (name, file) in files.sorted(by: { $0.key < $1.key }) {
      file.locks = FileLocks()
      file.shared = nil
      guard var platter = file.platter ?? (random.chance(500) ? [] : nil) else {
        files[name] = nil
        continue
      }
      let share = random.pick([0, 0, 500, 900, 1_000])
      for write in file.unsynced { Self.keep(share, of: write, in: &platter, &random) }
      file.settle(as: platter)
    }
    for (name, file) in removed.sorted(by: { $0.key < $1.key })
    where files[name] == nil && returns.chance(500) {
      file.locks = FileLocks()
      file.shared = nil
      file.settle(as: file.platter ?? [])
      files[name] = file
    }
    removed = [:]
  }

  /// Writes bytes into others, which grow if need be.
  private static func put(_ new: ArraySlice<UInt8>, at offset: Int, in bytes: inout [UInt8]) {
    let end = offset + new.count
    if bytes.count < end { bytes += repeatElement(0, count: end - bytes.count) }
    bytes.withUnsafeMutableBytes { room in
      new.withUnsafeBytes {
        UnsafeMutableRawBufferPointer(rebasing: room[offset..<end]).copyMemory(from: $0)
      }
    }
  }

  /// Some sectors of a write have reached the platter.
  private static func keep(
    _ share: Int, of write: (offset: Int, bytes: [UInt8]), in platter: inout [UInt8],
    _ random: inout Seeded
  ) {
    var start = 0
    while start < write.bytes.count {
      let end = min(write.bytes.count, start + sector)
      if random.chance(share) {
        put(write.bytes[start..<end], at: write.offset + start, in: &platter)
      }
      start = end
    }
  }
}
