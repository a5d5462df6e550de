import Glibc
import Replication
import Store

/// The file `ledger` in the folder beside the database: how far this replica has written, noted
/// after each commit and before anything is sent.
///
/// It is written in place and is on disk only when a run begins: what matters is that it outlives
/// this process. After a power cut it may be behind the database, never ahead of it.
final class LedgerFile: Ledger {
  private static let magic: UInt64 = 0x464C_4F54_4C49_4645
  private static let size = 48

  private let path: String
  private let descriptor: Int32
  private var record: LifeRecord

  /// Opens the file, or makes it, and has it on disk with this content.
  init(path: String, record: LifeRecord) throws(FlotillaError) {
    self.path = path
    self.record = record
    descriptor = OwnFile.open(path, O_WRONLY)
    guard descriptor >= 0 else { throw FlotillaError.file("cannot write \(path)") }
    guard write(), fsync(descriptor) == 0 else {
      let error = FlotillaError.file("cannot write \(path)")
      close(descriptor)
      throw error
    }
  }

  deinit { close(descriptor) }

  func note(_ mark: LifeMark) {
    if mark.run != record.mark.run { record.previousRun = record.mark.run }
    record.mark = mark
    // Without it the next start is in doubt and takes a new origin, which is always safe.
    if !write() { unlink(path) }
  }

  private func write() -> Bool {
    let bytes = Self.bytes(of: record)
    return bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) } == bytes.count
  }

  private static func bytes(of record: LifeRecord) -> [UInt8] {
    var writer = ByteWriter()
    let words = [
      magic, record.mark.origin.rawValue, record.mark.run, record.mark.seq, record.previousRun,
    ]
    for word in words { writer.word(word) }
    writer.word(check(words))
    return writer.bytes
  }

  private static func check(_ words: [UInt64]) -> UInt64 {
    words.reduce(0) { mix($0 ^ $1) }
  }

  /// What was noted; nil if the file is missing or damaged.
  static func read(_ path: String) -> LifeRecord? {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: size + 1)
    let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
    guard count == size else { return nil }
    var reader = ByteReader(Array(bytes.prefix(size)))
    var words: [UInt64] = []
    while words.count < 6, let word = try? reader.word("ledger") { words.append(word) }
    guard words.count == 6, words[0] == magic, words[5] == check(Array(words.prefix(5))) else {
      return nil
    }
    return LifeRecord(
      mark: LifeMark(origin: Origin(rawValue: words[1]), run: words[2], seq: words[3]),
      previousRun: words[4])
  }
}
