import CLinux
import Glibc
import Network
import Replication

/// The file of a copy by pages, read or written on a queue of its own.
actor PageFile {
  private let executor = QueueExecutor("flotilla.pages")
  private let descriptor: FileDescriptor
  let copy: Identity
  private(set) var bytes: Int
  private var hashes: [Int: [UInt8]] = [:]

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Closes its file when nobody has it any more.
  private final class FileDescriptor: Sendable {
    let raw: Int32
    init(_ raw: Int32) { self.raw = raw }
    deinit { close(raw) }
  }

  /// Takes over an open file.
  init(owning raw: Int32, _ copy: Identity, bytes: Int) {
    (descriptor, self.copy, self.bytes) = (FileDescriptor(raw), copy, bytes)
  }

  /// Opens a file to be read or filled; makes it if there is none.
  init(path: String, _ copy: Identity) throws(FlotillaError) {
    let raw = OwnFile.open(path, O_RDWR)
    guard raw >= 0 else { throw FlotillaError.file("cannot open \(path)") }
    var status = stat()
    guard fstat(raw, &status) == 0 else { throw FlotillaError.file("cannot read \(path)") }
    self.init(owning: raw, copy, bytes: Int(status.st_size))
  }

  var chunkCount: Int { (bytes + CopyMessage.chunkBytes - 1) / CopyMessage.chunkBytes }

  /// One chunk with its hash.
  func chunk(_ number: Int) throws(FlotillaError) -> (hash: [UInt8], bytes: [UInt8]) {
    let offset = number * CopyMessage.chunkBytes
    let length = min(CopyMessage.chunkBytes, bytes - offset)
    guard number >= 0, length > 0 else { throw FlotillaError(.system, "there is no such chunk") }
    let content = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
      while count < length {
        let rest = UnsafeMutableBufferPointer(rebasing: buffer[count..<length])
        let got = pread(
          descriptor.raw, rest.baseAddress, rest.count, off_t(offset + count))
        if got < 0, errno == EINTR { continue }
        guard got > 0 else { return }
        count += got
      }
    }
    guard content.count == length else { throw FlotillaError.file("cannot read the copy") }
    let hash = hashes[number] ?? Hashing.sha256(content)
    hashes[number] = hash
    return (hash, content)
  }

  /// The hashes of the first chunks, as far as they are whole.
  func hashes(upTo count: Int = .max) throws(FlotillaError) -> [[UInt8]] {
    try (0..<min(count, bytes / CopyMessage.chunkBytes)).map { number throws(FlotillaError) in
      if let hash = hashes[number] { return hash }
      return try chunk(number).hash
    }
  }

  /// The hashes of all chunks, the last one among them.
  func allHashes() throws(FlotillaError) -> [[UInt8]] {
    try (0..<chunkCount).map { number throws(FlotillaError) in
      if let hash = hashes[number] { return hash }
      return try chunk(number).hash
    }
  }

  /// Cuts the file to what is to stay of it.
  func keep(_ length: Int) throws(FlotillaError) {
    guard ftruncate(descriptor.raw, off_t(length)) == 0 else {
      throw FlotillaError.file("cannot write the copy")
    }
    bytes = length
  }

  /// Adds to the end; the disk begins to write at once, so that the last sync has little to do.
  func append(_ content: [UInt8]) throws(FlotillaError) {
    var done = 0
    while done < content.count {
      let put = content.withUnsafeBytes { content -> Int in
        let rest = UnsafeRawBufferPointer(rebasing: content[done...])
        return pwrite(descriptor.raw, rest.baseAddress, rest.count, off_t(bytes + done))
      }
      if put < 0, errno == EINTR { continue }
      guard put > 0 else { throw FlotillaError.file("cannot write the copy") }
      done += put
    }
    flotilla_begin_writing(descriptor.raw, Int64(bytes), Int64(done))
    bytes += done
  }
}
