import Glibc
import Testing

@testable import Network

@Suite(.timeLimit(.minutes(1))) struct `A local listener` {
  private let scratch = Scratch()
  private var path: String { scratch.file("control") }

  @Test func `tells who connects and carries bytes`() async throws {
    let listener = try await LocalListener(path: path)
    defer { listener.close() }
    async let accepted = listener.accept()
    let channel = try await SocketChannel.connect(toLocal: path)
    let client = try await accepted
    #expect(client.userID == getuid())
    try await channel.write([1, 2])
    #expect(try await client.channel.read(exactly: 2) == [1, 2])
    #expect(channel.remote.description == path)
    channel.close()
    #expect(try await client.channel.read(upTo: 1) == [])
    client.channel.close()
  }

  @Test func `is open to its owner only, and leaves nothing behind`() async throws {
    let listener = try await LocalListener(path: path)
    var status = stat()
    #expect(lstat(path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
    listener.close()
    #expect(lstat(path, &status) != 0)
  }

  /// On ext4 the new file gets the number of the old one at once.
  @Test func `leaves the socket of its successor alone when it goes`() async throws {
    var first: LocalListener? = try await LocalListener(path: path)
    first?.close()
    let second = try await LocalListener(path: path)
    defer { second.close() }
    first = nil
    var status = stat()
    #expect(lstat(path, &status) == 0)
  }

  @Test func `replaces a socket on which nobody answers`() async throws {
    try leaveStaleSocket()
    let listener = try await LocalListener(path: path)
    defer { listener.close() }
    async let accepted = listener.accept()
    let channel = try await SocketChannel.connect(toLocal: path)
    try await accepted.channel.close()
    channel.close()
  }

  @Test func `refuses a path on which somebody answers`() async throws {
    let first = try await LocalListener(path: path)
    defer { first.close() }
    let path = path
    let error = await #expect(throws: NetworkError.self) { try await LocalListener(path: path) }
    #expect(error?.code == .addressInUse)
    async let accepted = first.accept()
    let probe = try await accepted
    #expect(try await probe.channel.read(upTo: 1) == [], "the question itself is a connection")
    probe.channel.close()
  }

  @Test func `of several that start at once on a stale socket exactly one wins`() async throws {
    try leaveStaleSocket()
    let path = path
    let winners = await withTaskGroup(of: LocalListener?.self) { group in
      for _ in 0..<8 { group.addTask { try? await LocalListener(path: path) } }
      return await group.reduce(into: [LocalListener]()) { if let one = $1 { $0.append(one) } }
    }
    #expect(winners.count == 1)
    let channel = try await SocketChannel.connect(toLocal: path)
    channel.close()
    for winner in winners { winner.close() }
  }

  @Test func `never removes a file that is no socket`() async throws {
    let path = path
    close(open(path, O_CREAT | O_WRONLY, 0o600))
    let error = await #expect(throws: NetworkError.self) { try await LocalListener(path: path) }
    #expect(error?.code == .addressInUse)
    #expect(access(path, F_OK) == 0)
  }

  @Test func `does not remove the socket of a successor`() async throws {
    let listener = try await LocalListener(path: path)
    unlink(path)
    try leaveStaleSocket()
    listener.close()
    #expect(access(path, F_OK) == 0)
  }

  @Test(arguments: [107, 108])
  func `takes a path of at most 107 bytes`(length: Int) async throws {
    let room = length - scratch.path.utf8.count - 1
    let path = scratch.file(String(repeating: "x", count: room))
    let result = await Result { () async throws(NetworkError) in
      try await LocalListener(path: path)
    }
    if length == 107 { return try result.get().close() }
    let error = #expect(throws: NetworkError.self) { try result.get() }
    #expect(error?.code == .invalidAddress)
    #expect(error?.message.contains("108") == true && error?.message.contains("107") == true)
  }

  @Test func `connecting fails where no socket is`() async throws {
    let path = path
    let error = await #expect(throws: NetworkError.self) {
      try await SocketChannel.connect(toLocal: path)
    }
    #expect(error?.code == .unreachable)
  }

  private func leaveStaleSocket() throws {
    let raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let address = try SocketAddress(localPath: path)
    #expect(address.withPointer { bind(raw, $0, $1) } == 0)
    close(raw)
  }
}
