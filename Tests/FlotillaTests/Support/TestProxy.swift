import Network
import Synchronization

/// A cable between two nodes: passes bytes on, counts them, and can be cut.
actor TestProxy {
  private let listener: Listener
  private let target: Endpoint
  private var accepting: Task<Void, Never>?
  private var pairs: [(SocketChannel, SocketChannel)] = []
  private var pipes: [Task<Void, Never>] = []
  /// Bytes that came back from the target, over all connections.
  private(set) var bytesBack = 0
  /// Once so many bytes came back, nothing more is passed on until the connection is cut.
  private var stopAfter: Int?
  /// From then on one byte comes back each 20 ms, over each connection.
  private var dripAfter: Int?

  init(to address: String, stopAfter: Int? = nil, dripAfter: Int? = nil) async throws {
    self.dripAfter = dripAfter
    listener = try await Listener(host: "127.0.0.1", port: 0)
    target = try Endpoint(parsing: address)
    self.stopAfter = stopAfter
  }

  nonisolated var address: String { "127.0.0.1:\(listener.port)" }

  func start() {
    accepting = Task {
      while let channel = try? await listener.accept() { await self.connect(channel) }
    }
  }

  private func connect(_ near: SocketChannel) async {
    guard let far = try? await SocketChannel.connect(to: target) else { return near.close() }
    pairs.append((near, far))
    pipes.append(Task { await self.pass(from: near, to: far, isBack: false) })
    pipes.append(Task { await self.pass(from: far, to: near, isBack: true) })
  }

  private func pass(from: SocketChannel, to: SocketChannel, isBack: Bool) async {
    while let bytes = try? await from.read(upTo: 16 << 10), !bytes.isEmpty {
      if isBack {
        bytesBack += bytes.count
        if let limit = stopAfter, bytesBack >= limit {
          stopAfter = nil
          return
        }
      }
      guard await pass(bytes, to: to, isBack: isBack) else { break }
    }
    from.close()
    to.close()
  }

  private func pass(_ bytes: [UInt8], to: SocketChannel, isBack: Bool) async -> Bool {
    var sent = 0
    while isBack, sent < bytes.count, let limit = dripAfter, bytesBack >= limit {
      guard (try? await to.write([bytes[sent]])) != nil,
        (try? await Task.sleep(for: .milliseconds(20))) != nil
      else { return false }
      sent += 1
    }
    return (try? await to.write(Array(bytes[sent...]))) != nil
  }

  /// Nothing drips any more.
  func open() { dripAfter = nil }

  /// Cuts every connection; new ones are let through.
  func cut() {
    for (near, far) in pairs {
      near.close()
      far.close()
    }
    pairs = []
  }

  func stop() async {
    listener.close()
    await accepting?.value
    cut()
    for pipe in pipes { await pipe.value }
  }
}
