import CLinux
import Glibc

/// A UNIX-domain socket that waits for connections, for the owner of this process only.
package final class LocalListener: Sendable {
  /// A connection and who is at its other end.
  package struct Client: Sendable {
    package let channel: SocketChannel
    /// The user id of the process that connected, as the kernel noted it then.
    package let userID: UInt32
  }

  /// Which file a path named when it was bound.
  private struct FileIdentity: Sendable, Equatable {
    let device: dev_t
    let inode: ino_t
  }

  package let path: String
  private let acceptor: Acceptor
  private let identity: FileIdentity?

  /// Makes the socket with mode 0600, in place of one on which nobody answers.
  ///
  /// Two processes that start at once agree by a lock on the folder, else each could remove the
  /// other's fresh socket as stale.
  package init(path: String) async throws(NetworkError) {
    self.path = path
    acceptor = try await offPool("bind-local") {
      Result { () throws(NetworkError) in try Self.bind(path) }
    }
    identity = Self.identity(of: path)
  }

  deinit { close() }

  /// Waits for the next connection; ends with `.closed` after `close()`.
  package func accept() async throws(NetworkError) -> Client {
    let path = path
    return try await acceptor.accept { (descriptor, _) throws(NetworkError) in
      let userID = flotilla_peer_uid(descriptor.raw)
      guard userID >= 0 else { throw .system(errno, during: "ask who connected") }
      let channel = SocketChannel(owning: descriptor, remote: Endpoint(localPath: path))
      return Client(channel: channel, userID: UInt32(userID))
    }
  }

  /// Stops listening, ends every `accept` that waits, and removes the socket if it is still ours.
  ///
  /// Once only: the number that names a file is soon another one's, which may be our successor.
  package func close() {
    guard acceptor.close() else { return }
    if let identity, Self.identity(of: path) == identity { unlink(path) }
  }

  private static func bind(_ path: String) throws(NetworkError) -> Acceptor {
    let address = try SocketAddress(localPath: path)
    let folder = try lockFolder(of: path)
    defer { withExtendedLifetime(folder.raw) {} }
    let descriptor = try Descriptor(streamSocket: AF_UNIX, flags: Int32(SOCK_NONBLOCK.rawValue))
    // Linux gives the file the mode of the unbound socket, so it is never open to others.
    fchmod(descriptor.raw, 0o600)
    if address.withPointer({ Glibc.bind(descriptor.raw, $0, $1) }) != 0 {
      guard errno == EADDRINUSE else { throw .system(errno, during: "bind the local socket") }
      try removeStale(path)
      guard address.withPointer({ Glibc.bind(descriptor.raw, $0, $1) }) == 0 else {
        throw .system(errno, during: "bind the local socket")
      }
    }
    return try Acceptor(listening: descriptor)
  }

  /// Removes a socket on which nobody answers, and refuses to remove anything else.
  private static func removeStale(_ path: String) throws(NetworkError) {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
      throw NetworkError(.addressInUse, "something that is no socket stands at the path")
    }
    do throws(NetworkError) {
      try SocketChannel.connectLocally(to: path).close()
    } catch {
      guard error.code == .refused else {
        throw NetworkError(.addressInUse, "the local socket cannot be asked: \(error.message)")
      }
      guard unlink(path) == 0 else { throw .system(errno, during: "remove the stale socket") }
      return
    }
    throw NetworkError(.addressInUse, "another process answers on the local socket")
  }

  /// The folder of `path`, locked against other listeners until the descriptor is closed.
  private static func lockFolder(of path: String) throws(NetworkError) -> Descriptor {
    let slash = path.lastIndex(of: "/")
    let folder = slash.map { String(path[...$0]) } ?? "."
    let raw = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard raw >= 0 else { throw .system(errno, during: "open the folder of the local socket") }
    let descriptor = Descriptor(owning: raw)
    for _ in 0..<200 {
      if flock(raw, LOCK_EX | LOCK_NB) == 0 { return descriptor }
      guard errno == EWOULDBLOCK || errno == EINTR else { break }
      usleep(10_000)
    }
    throw NetworkError(.addressInUse, "another process holds the folder of the local socket")
  }

  private static func identity(of path: String) -> FileIdentity? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    return FileIdentity(device: status.st_dev, inode: status.st_ino)
  }
}
