import Dispatch
import Glibc
import Synchronization

/// Serves HTTP/1.1 on sockets that listen, on a thread of its own; requests are worked on in tasks.
package final class HTTPServer: Sendable {
  private struct State: Sendable {
    var tasks: [Int: Task<Void, Never>] = [:]
    var hasEnded = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let mailbox = Mailbox()
  private let state = Mutex(State())

  init() {}

  /// Begins to serve; the sockets belong to the server from now on.
  func start(
    _ sockets: [Int32], secure: SecureSocket? = nil, limits: ServerLimits,
    busy: @escaping @Sendable () -> HTTPResponse,
    _ handle: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
  ) {
    DispatchQueue(label: "flotilla.gateway.sockets").async { [self] in
      let loop = EventLoop(
        listening: sockets, secure: secure, limits: limits, mailbox: mailbox,
        deliver: { number, request in self.work(number, request, handle) }, refuse: busy)
      loop?.run()
      finish()
    }
  }

  private func work(
    _ number: Int, _ request: HTTPRequest,
    _ handle: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
  ) {
    state.withLock { state in
      state.tasks[number] = Task { [self] in
        let response = await handle(request)
        if let write = response.stream, request.method != "HEAD" {
          let stream = ResponseStream(number, mailbox)
          mailbox.post(.begin(number, response, stream))
          await write(stream)
          mailbox.post(.finish(number))
        } else {
          mailbox.post(.answer(number, response))
        }
        self.state.withLock { $0.tasks[number] = nil }
      }
    }
  }

  private func finish() {
    let (tasks, waiting) = state.withLock { state in
      defer { (state.hasEnded, state.waiting) = (true, []) }
      return (state.tasks.values, state.waiting)
    }
    for task in tasks { task.cancel() }
    for one in waiting { one.resume() }
  }

  /// Stops listening, lets answers go out for two seconds, and ends every connection.
  package func stop() async {
    mailbox.post(.stop)
    await withCheckedContinuation { continuation in
      let hasEnded = state.withLock { state in
        if !state.hasEnded { state.waiting.append(continuation) }
        return state.hasEnded
      }
      if hasEnded { continuation.resume() }
    }
  }
}
