// For `timeval` alone: in a build of the whole module the compiler takes it for Avahi's, whose
// headers include the system's.
import CAvahi
import CLinux
import Dispatch
import Glibc

extension SocketChannel {
  /// Connects to the first address of `endpoint` that answers.
  ///
  /// Each address gets an equal share of the time that is left, so that a dead one does not
  /// use it up. Cancelling the task ends the attempt.
  package static func connect(
    to endpoint: Endpoint, timeout: Duration = .seconds(3)
  ) async throws(NetworkError) -> SocketChannel {
    let deadline = ContinuousClock.now + timeout
    let addresses = try await endpoint.resolve(before: deadline)
    let cancelled = try Wakeup()
    let result = await withTaskCancellationHandler {
      await DispatchQueue(label: "flotilla.network.connect").run {
        connect(toFirstOf: addresses, endpoint, before: deadline, unless: cancelled)
      }
    } onCancel: {
      cancelled.signal()
    }
    return try result.get()
  }

  /// Connects to a UNIX-domain socket, waiting at most 3 s if its backlog is full; to that of one
  /// of these users, if they are given.
  package static func connect(
    toLocal path: String, of users: Set<UInt32>? = nil
  ) async throws(NetworkError) -> SocketChannel {
    try await offPool("connect-local") {
      Result { () throws(NetworkError) in try connectLocally(to: path, of: users) }
    }
  }

  /// Connects to a UNIX-domain socket and blocks meanwhile.
  static func connectLocally(
    to path: String, of users: Set<UInt32>? = nil
  ) throws(NetworkError) -> SocketChannel {
    let address = try SocketAddress(localPath: path)
    let descriptor = try Descriptor(streamSocket: AF_UNIX)
    try descriptor.setSendTimeout(seconds: 3)
    while address.withPointer({ Glibc.connect(descriptor.raw, $0, $1) }) != 0 {
      if errno == EINTR { continue }
      // unix(7) has no word on it, but a full backlog ends in EAGAIN when SO_SNDTIMEO is over.
      let number = errno == EAGAIN ? ETIMEDOUT : errno
      throw NetworkError.system(number, during: "connect to the local socket")
    }
    try descriptor.setSendTimeout(seconds: 0)
    if let users {
      let userID = flotilla_peer_uid(descriptor.raw)
      guard userID >= 0 else { throw .system(errno, during: "ask who listens") }
      guard users.contains(UInt32(userID)) else {
        throw NetworkError(.untrusted, "another user listens on the local socket")
      }
    }
    return SocketChannel(owning: descriptor, remote: Endpoint(localPath: path))
  }

  private static func connect(
    toFirstOf addresses: [SocketAddress], _ endpoint: Endpoint,
    before deadline: ContinuousClock.Instant, unless cancelled: Wakeup
  ) -> Result<SocketChannel, NetworkError> {
    var failure = NetworkError(.unreachable, "connect: the host has no address")
    for (index, address) in addresses.enumerated() {
      let rest = max(.zero, ContinuousClock.now.duration(to: deadline))
      let share = rest / (addresses.count - index)
      do throws(NetworkError) {
        return .success(
          try connect(to: address, endpoint, within: share, unless: cancelled))
      } catch {
        failure = error
        if error.code == .cancelled { break }
      }
    }
    return .failure(failure)
  }

  private static func connect(
    to address: SocketAddress, _ endpoint: Endpoint, within time: Duration, unless cancelled: Wakeup
  ) throws(NetworkError) -> SocketChannel {
    let descriptor = try Descriptor(
      streamSocket: address.family, flags: Int32(SOCK_NONBLOCK.rawValue))
    let outcome = address.withPointer { Glibc.connect(descriptor.raw, $0, $1) }
    if outcome != 0 {
      // connect(2): "EINPROGRESS … It is possible to select(2) or poll(2) for completion by
      // selecting the socket for writing"; after EINTR the attempt also goes on.
      guard errno == EINPROGRESS || errno == EINTR else {
        throw NetworkError.system(errno, during: "connect")
      }
      switch cancelled.wait(
        for: descriptor.raw, events: POLLOUT, milliseconds: time.wholeMilliseconds)
      {
      case .signalled: throw NetworkError(.cancelled, "connect: cancelled")
      case .timedOut: throw NetworkError.system(ETIMEDOUT, during: "connect")
      case .ready: break
      }
      let number = descriptor.pendingError()
      guard number == 0 else { throw NetworkError.system(number, during: "connect") }
    }
    try descriptor.setBlocking(true)
    try descriptor.setTCPOptions()
    return SocketChannel(owning: descriptor, remote: address.endpoint ?? endpoint)
  }
}

extension Descriptor {
  /// How long a peer may leave sent bytes unacknowledged, or take none although it acknowledges.
  ///
  /// Linux applies TCP_USER_TIMEOUT to a closed window too: a live peer takes nothing for as long
  /// as its database is locked or its disk is full. A dead peer is noticed much sooner by whoever
  /// expects a heartbeat from it.
  private static let silenceLimit: Duration = .seconds(600)

  /// The option of Linux that bounds the pause between two transmissions, and its least value, in
  /// ms (include/uapi/linux/tcp.h, since 6.15; Glibc's header has no name for it yet).
  private static let longestPause: (option: Int32, value: Int32) = (44, 1_000)

  /// What every TCP connection gets: no delay, and an end when the peer falls silent.
  ///
  /// TCP_USER_TIMEOUT covers bytes in flight; keep-alive probes cover a connection at rest. After a
  /// cut of a few seconds bytes that were lost are sent again only when a pause is over that grew
  /// all the while: without its bound what a peer has to say came seconds after the link was back.
  borrowing func setTCPOptions() throws(NetworkError) {
    let TCP = Int32(IPPROTO_TCP)
    try set(TCP_NODELAY, level: TCP, to: 1)
    // Older kernels do without.
    try? set(Self.longestPause.option, level: TCP, to: Self.longestPause.value)
    try set(TCP_USER_TIMEOUT, level: TCP, to: Int32(Self.silenceLimit.wholeMilliseconds))
    try set(TCP_KEEPIDLE, level: TCP, to: 10)
    try set(TCP_KEEPINTVL, level: TCP, to: 3)
    try set(TCP_KEEPCNT, level: TCP, to: 3)
    try set(SO_KEEPALIVE, level: SOL_SOCKET, to: 1)
  }

  /// Bounds how long a connect or a send may block; 0 is for ever.
  borrowing func setSendTimeout(seconds: Int) throws(NetworkError) {
    var time = timeval(tv_sec: seconds, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    guard setsockopt(raw, SOL_SOCKET, SO_SNDTIMEO, &time, size) == 0 else {
      throw NetworkError.system(errno, during: "set a socket option")
    }
  }
}
