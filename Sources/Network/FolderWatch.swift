import CLinux
import Dispatch
import Glibc

/// Tells that a file, or one of its companions, was changed by anybody: a hint to look.
///
/// The folder is watched, not the file, so that files may be deleted, created and renamed over.
/// Changes that come together are told once. Symbolic links are followed first, since SQLite puts
/// the write-ahead log beside the real file.
package final class FolderWatch: Sendable {
  /// One element after each burst of changes; ends with `stop()` or with the folder itself.
  package let changes: AsyncStream<Void>

  /// For so long, in µs, signs are gathered after one was told: a long transaction, also one of
  /// this process, makes thousands.
  private static let gathering: UInt32 = 2_000

  private let finish: AsyncStream<Void>.Continuation
  /// Kept to be cancelled; a source is not `Sendable`, the lock makes it so.
  private let source: Locked<(any DispatchSourceRead)?>

  /// Watches the file at `path` and those named like it with one of `suffixes` appended.
  package init(
    path: String, suffixes: [String] = ["", "-wal", "-journal"]
  ) throws(NetworkError) {
    let (folder, file) = Self.split(Self.realPath(of: path) ?? path)
    let raw = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
    guard raw >= 0 else { throw .system(errno, during: "start to watch the folder") }
    let mask =
      IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_CLOSE_WRITE
      | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR
    guard inotify_add_watch(raw, folder, UInt32(mask)) >= 0 else {
      let number = errno
      Glibc.close(raw)
      throw .system(number, during: "watch the folder")
    }
    let (changes, continuation) = AsyncStream<Void>.makeStream(
      bufferingPolicy: .bufferingNewest(1))
    let queue = DispatchQueue(label: "flotilla.network.folder")
    let source = DispatchSource.makeReadSource(fileDescriptor: raw, queue: queue)
    let names = Set(suffixes.map { file + $0 })
    source.setEventHandler {
      let news = InotifyNews(reading: raw)
      if news.isOverflow || !news.names.isDisjoint(with: names) { continuation.yield() }
      if news.isOver { continuation.finish() }
      // What comes meanwhile wakes this queue again, once.
      usleep(Self.gathering)
    }
    source.setCancelHandler { Glibc.close(raw) }
    source.activate()
    self.changes = changes
    finish = continuation
    self.source = Locked(source)
  }

  deinit { stop() }

  /// Ends the watch and the stream.
  package func stop() {
    source.withLock { $0.take()?.cancel() }
    finish.finish()
  }

  /// The path without symbolic links, or nil if there is no such file yet.
  private static func realPath(of path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  private static func split(_ path: String) -> (folder: String, file: String) {
    guard let slash = path.lastIndex(of: "/") else { return (".", path) }
    return (String(path[...slash]), String(path[path.index(after: slash)...]))
  }
}

/// What one read of an inotify descriptor told.
struct InotifyNews {
  /// The names within the folder to which something happened.
  private(set) var names: Set<String> = []
  /// Whether the queue of the kernel ran over: anything may have changed.
  private(set) var isOverflow = false
  /// Whether the folder itself is gone, so nothing more will come.
  private(set) var isOver = false

  /// Reads what is there, without waiting.
  init(reading raw: Int32) {
    let room = 16 * 1024
    let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      count = max(0, read(raw, buffer.baseAddress, room))
    }
    self.init(bytes)
  }

  /// Takes records apart: wd, mask, cookie and length in 4 bytes each, then a padded name.
  init(_ bytes: [UInt8]) {
    let header = 16
    bytes.withUnsafeBytes { buffer in
      var offset = 0
      while offset + header <= buffer.count {
        let mask = Int(buffer.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self))
        let size = Int(buffer.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
        guard offset + header + size <= buffer.count else { return }
        let name = buffer[(offset + header)..<(offset + header + size)].prefix { $0 != 0 }
        if !name.isEmpty { names.insert(String(decoding: name, as: UTF8.self)) }
        if mask & Int(IN_Q_OVERFLOW) != 0 { isOverflow = true }
        if mask & Int(IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED) != 0 {
          isOver = true
        }
        offset += header + size
      }
    }
  }
}
