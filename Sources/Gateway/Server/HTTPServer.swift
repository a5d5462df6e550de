import Dispatch
import Glibc
import Synchronization

/// What is done about one request.
package struct HTTPWork: Sendable {
  /// The thread on which it is begun; nil for those of the process.
  var executor: (any TaskExecutor)?
  var answer: @Sendable () async -> HTTPResponse

  init(
    on executor: (any TaskExecutor)? = nil, _ answer: @escaping @Sendable () async -> HTTPResponse
  ) {
    (self.executor, self.answer) = (executor, answer)
  }
}

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
    asker: @escaping @Sendable (HTTPRequest) -> String = { _ in "" },
    _ handle: @escaping @Sendable (HTTPRequest) -> HTTPWork
  ) {
    DispatchQueue(label: "flotilla.gateway.sockets").async { [self] in
      let loop = EventLoop(
        listening: sockets, secure: secure, limits: limits, mailbox: mailbox,
        deliver: { number, request in self.begin(handle(request), number, request.method) },
        refuse: busy, asker: asker)
      loop?.run()
      finish()
    }
  }

  private func begin(_ work: HTTPWork, _ number: Int, _ method: String) {
    state.withLock { state in
      state.tasks[number] = Task(executorPreference: work.executor) { [self] in
        let response = await work.answer()
        if let write = response.stream, method != "HEAD" {
          let stream = ResponseStream(number, mailbox) { [self] in
            self.state.withLock { $0.tasks[number] }?.cancel()
          }
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
