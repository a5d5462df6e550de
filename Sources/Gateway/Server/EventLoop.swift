import CEvent
import Flotilla
import Glibc

/// The one thread on which libevent talks to clients: it reads requests, hands them on, and sends
/// what has become of them. It never waits for anything but the sockets.
final class EventLoop {
  let base: OpaquePointer
  private let http: OpaquePointer
  /// The same for other machines, and what makes their connections.
  private var secureHTTP: OpaquePointer?
  private var tls: OpaquePointer?
  let limits: ServerLimits
  let mailbox: Mailbox
  /// Has a request worked on elsewhere.
  private let deliver: @Sendable (Int, HTTPRequest) -> Void
  private let refuse: @Sendable () -> HTTPResponse
  /// Who asks.
  private let asker: @Sendable (HTTPRequest) -> String

  var connections: [OpaquePointer: ClientConnection] = [:]
  /// The listeners, and whether they accept at present.
  var listeners: [OpaquePointer] = []
  var isListening = true
  private var requests: [Int: OpaquePointer] = [:]
  /// Those of them that wait for their turn, in the order in which they came.
  private var waiting: [(number: Int, request: HTTPRequest, since: ContinuousClock.Instant)] = []
  private var places: RequestPlaces
  /// Answers that go on.
  private var streams: [Int: Streamed] = [:]
  /// The bytes of the bodies that are worked on, by request.
  private var held: [Int: Int] = [:]
  private var next = 0
  private var events: [OpaquePointer] = []
  var end: ContinuousClock.Instant?
  /// Bytes that have come since it was looked at what all hold, and whether that was much.
  var unchecked = 0
  var heldMuch = false

  /// Takes over listening sockets. `refuse` makes the answer for who comes while too many
  /// requests are worked on.
  init?(
    listening sockets: [Int32], secure: SecureSocket?, limits: ServerLimits, mailbox: Mailbox,
    deliver: @escaping @Sendable (Int, HTTPRequest) -> Void,
    refuse: @escaping @Sendable () -> HTTPResponse,
    asker: @escaping @Sendable (HTTPRequest) -> String
  ) {
    // What it would write to standard error is the fault of clients.
    event_set_log_callback { _, _ in }
    guard let base = event_base_new(), let http = evhttp_new(base) else { return nil }
    (self.base, self.http, self.limits, self.mailbox) = (base, http, limits, mailbox)
    (self.deliver, self.refuse, self.asker) = (deliver, refuse, asker)
    places = RequestPlaces(most: limits.requests)
    prepare(http)
    evhttp_set_bevcb(
      http, { base, owner in owner.flatMap { EventLoop.of($0).open(base, isSecure: false) } },
      Unmanaged.passUnretained(self).toOpaque())
    for socket in sockets {
      guard listen(on: socket, http) else { return nil }
    }
    if let secure {
      guard let other = evhttp_new(base), let context = secure.context() else { return nil }
      (secureHTTP, tls) = (other, context)
      prepare(other)
      evhttp_set_bevcb(
        other, { base, owner in owner.flatMap { EventLoop.of($0).open(base, isSecure: true) } },
        Unmanaged.passUnretained(self).toOpaque())
      guard listen(on: secure.descriptor, other) else { return nil }
    }
    add(mailbox.readEnd, Int16(EV_READ | EV_PERSIST), nil) { _, _, owner in
      if let owner { EventLoop.of(owner).readMail() }
    }
    var tick = timeval(tv_sec: 0, tv_usec: 100_000)
    add(-1, Int16(EV_PERSIST), &tick) { _, _, owner in
      if let owner { EventLoop.of(owner).tick() }
    }
  }

  private func prepare(_ http: OpaquePointer) {
    evhttp_set_max_headers_size(http, limits.headerBytes)
    evhttp_set_max_body_size(http, limits.bodyBytes)
    evhttp_set_default_content_type(http, nil)
    evhttp_set_allowed_methods(http, Self.methods.reduce(0) { $0 | UInt16($1.0.rawValue) })
    evhttp_set_gencb(
      http, { request, owner in if let owner, let request { EventLoop.of(owner).take(request) } },
      Unmanaged.passUnretained(self).toOpaque())
  }

  private func listen(on socket: Int32, _ http: OpaquePointer) -> Bool {
    guard let bound = evhttp_accept_socket_with_handle(http, socket),
      let listener = evhttp_bound_socket_get_listener(bound)
    else { return false }
    listeners.append(listener)
    return true
  }

  private static func of(_ owner: UnsafeMutableRawPointer) -> EventLoop {
    Unmanaged<EventLoop>.fromOpaque(owner).takeUnretainedValue()
  }

  private func add(
    _ descriptor: Int32, _ what: Int16, _ time: UnsafePointer<timeval>?,
    _ call: @escaping event_callback_fn
  ) {
    let owner = Unmanaged.passUnretained(self).toOpaque()
    guard let event = event_new(base, descriptor, what, call, owner) else { return }
    event_add(event, time)
    events.append(event)
  }

  /// Works until it is told to stop; then lets go of everything.
  func run() {
    // Who has left makes a write an error, and not the end of the process.
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipe, nil)
    event_base_dispatch(base)
    mailbox.shut()
    for number in streams.keys { finish(number) }
    (requests, waiting) = ([:], [])
    evhttp_free(http)
    if let secureHTTP { evhttp_free(secureHTTP) }
    for connection in connections.values { connection.release() }
    connections = [:]
    for event in events { event_free(event) }
    // What libevent frees in its own time holds on to the context by itself.
    if let tls { flotilla_tls_free(tls) }
    event_base_free(base)
  }

  private func open(_ base: OpaquePointer?, isSecure: Bool) -> OpaquePointer? {
    let made =
      isSecure
      ? flotilla_tls_connection(base, tls)
      : bufferevent_socket_new(base, -1, Int32(BEV_OPT_CLOSE_ON_FREE.rawValue))
    guard let event = made else { return nil }
    connections[event] = ClientConnection(event) { [unowned self] in bound(after: $0) }
    if connections.count >= limits.connections { listen(false) }
    return event
  }

  /// The connection on which a request came.
  private func connection(of request: OpaquePointer) -> ClientConnection? {
    evhttp_request_get_connection(request).flatMap { evhttp_connection_get_bufferevent($0) }
      .flatMap { connections[$0] }
  }

  private func take(_ request: OpaquePointer) {
    let connection = connection(of: request)
    let nuls = connection?.work() ?? 0
    next += 1
    requests[next] = request
    held[next] = evbuffer_get_length(evhttp_request_get_input_buffer(request))
    guard end == nil, held.values.reduce(0, +) <= limits.unfinishedBytes else {
      answer(next, refuse())
      return
    }
    var read = Self.read(request)
    read.isSecure = connection.map { flotilla_is_tls($0.bufferEvent) != 0 } ?? false
    if nuls > read.body.count(where: { $0 == 0 }) { read.flaw = .nul }
    (read.asker, read.turnTime) = (asker(read), limits.turnTime)
    waiting.append((next, read, .now))
    deliverWaiting()
  }

  /// Hands on what has its turn, past those whose share is taken. A burst waits; a connection has
  /// one request at a time, so no more wait than there are connections.
  private func deliverWaiting() {
    while let index = waiting.firstIndex(where: { places.hasRoom(for: $0.request.asker) }) {
      let (number, request, _) = waiting.remove(at: index)
      places.enter(number, for: request.asker)
      deliver(number, request)
    }
  }

  /// Tells those to come again that have waited for too long.
  private func refuseLate() {
    let now = ContinuousClock.now
    while let first = waiting.first, now - first.since > limits.turnTime {
      waiting.removeFirst()
      answer(first.number, refuse())
    }
  }

  private static let methods: [(evhttp_cmd_type, String)] = [
    (EVHTTP_REQ_GET, "GET"), (EVHTTP_REQ_HEAD, "HEAD"), (EVHTTP_REQ_POST, "POST"),
    (EVHTTP_REQ_PUT, "PUT"), (EVHTTP_REQ_PATCH, "PATCH"), (EVHTTP_REQ_DELETE, "DELETE"),
    (EVHTTP_REQ_OPTIONS, "OPTIONS"),
  ]

  private static func read(_ request: OpaquePointer) -> HTTPRequest {
    let command = evhttp_request_get_command(request)
    let target = evhttp_request_get_uri(request).flatMap { String(validatingCString: $0) }
    var read = HTTPRequest(methods.first { $0.0 == command }?.1 ?? "", target ?? "")
    if target == nil { read.flaw = .target }
    var header = flotilla_first_header(evhttp_request_get_input_headers(request))
    while let one = header {
      read.headers.append(
        (String(cString: one.pointee.key).lowercased(), String(cString: one.pointee.value)))
      header = flotilla_next_header(one)
    }
    let input = evhttp_request_get_input_buffer(request)
    let count = evbuffer_get_length(input)
    read.body = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      filled = max(0, Int(evbuffer_remove(input, buffer.baseAddress, count)))
    }
    return read
  }

  private func readMail() {
    for message in mailbox.take() {
      switch message {
      case .answer(let number, let response): answer(number, response)
      case .begin(let number, let response, let stream): begin(number, response, stream)
      case .part(let number, let bytes): write(bytes, to: number)
      case .finish(let number): finish(number)
      case .stop:
        for number in streams.keys { finish(number) }
        end = .now + .seconds(2)
        listen(false)
      }
    }
    stopIfDone()
  }

  private func answer(_ number: Int, _ response: HTTPResponse) {
    held[number] = nil
    places.leave(number)
    guard let request = requests.removeValue(forKey: number) else { return }
    defer { deliverWaiting() }
    let headers = evhttp_request_get_output_headers(request)
    for (name, value) in response.headers { evhttp_add_header(headers, name, value) }
    if response.closes || end != nil { evhttp_add_header(headers, "Connection", "close") }
    // The library sends what it is given, also as an answer to HEAD.
    let isHead = evhttp_request_get_command(request) == EVHTTP_REQ_HEAD
    let body = isHead ? [] : response.body
    if isHead, response.stream == nil {
      evhttp_add_header(headers, "Content-Length", String(response.body.count))
    }
    connection(of: request)?.send(body.count)
    evhttp_request_set_on_complete_cb(
      request,
      { request, owner in
        guard let owner, let request else { return }
        EventLoop.of(owner).connection(of: request)?.sent()
      }, Unmanaged.passUnretained(self).toOpaque())
    let buffer = evbuffer_new()
    defer { if let buffer { evbuffer_free(buffer) } }
    evbuffer_add(buffer, body, body.count)
    evhttp_send_reply(request, Int32(response.status), response.reason, buffer)
  }

  private func begin(_ number: Int, _ response: HTTPResponse, _ stream: ResponseStream) {
    held[number] = nil
    places.leave(number)
    guard let request = requests.removeValue(forKey: number) else { return stream.close() }
    defer { deliverWaiting() }
    guard end == nil, let connection = connection(of: request) else {
      stream.close()
      evhttp_send_reply_end(request)
      return
    }
    let headers = evhttp_request_get_output_headers(request)
    for (name, value) in response.headers { evhttp_add_header(headers, name, value) }
    // Nothing else follows on the connection: who has heard enough hangs up.
    evhttp_add_header(headers, "Connection", "close")
    connection.stream()
    streams[number] = Streamed(request: request, stream: stream)
    evhttp_send_reply_start(request, Int32(response.status), response.reason)
  }

  /// Sends more of an answer; who has left gets no more.
  private func write(_ bytes: [UInt8], to number: Int) {
    guard let streamed = streams[number] else { return }
    guard connection(of: streamed.request) != nil else { return finish(number) }
    let buffer = evbuffer_new()
    defer { if let buffer { evbuffer_free(buffer) } }
    evbuffer_add(buffer, bytes, bytes.count)
    evhttp_send_reply_chunk_with_cb(
      streamed.request, buffer,
      { _, owner in
        guard let owner else { return }
        Unmanaged<ResponseStream>.fromOpaque(owner).takeUnretainedValue().sent()
      }, Unmanaged.passUnretained(streamed.stream).toOpaque())
  }

  private func finish(_ number: Int) {
    guard let streamed = streams.removeValue(forKey: number) else { return }
    streamed.stream.close()
    connection(of: streamed.request)?.send(0)
    // Frees the request, also that of a client that is gone.
    evhttp_send_reply_end(streamed.request)
  }

  /// Ends what is written to those who are gone.
  private func endDeserted() {
    for (number, streamed) in streams where connection(of: streamed.request) == nil {
      finish(number)
    }
  }

  private struct Streamed {
    let request: OpaquePointer
    let stream: ResponseStream
  }

  private func tick() {
    endDeserted()
    refuseLate()
    sweep()
    stopIfDone()
  }

  private func stopIfDone() {
    guard let end else { return }
    let isSending = connections.values.contains { $0.isInUse && $0.state == .sending }
    if requests.isEmpty && !isSending || .now > end { event_base_loopbreak(base) }
  }
}

/// Clients that take too long or too much.
extension EventLoop {
  func listen(_ isWanted: Bool) {
    guard isListening != isWanted else { return }
    isListening = isWanted
    for listener in listeners {
      if isWanted { evconnlistener_enable(listener) } else { evconnlistener_disable(listener) }
    }
  }

  /// Lets go of connections that have ended, and ends those that are late or hold too much; where
  /// there are too many the ones that have said nothing for longest make room.
  func sweep() {
    for (event, connection) in connections where !connection.isInUse {
      connection.release()
      connections[event] = nil
    }
    let now = ContinuousClock.now
    for connection in connections.values where connection.isLate(limits, at: now) {
      connection.cut()
    }
    let all = connections.values
    giveBack(all.reduce(0) { $0 + $1.held + $1.unsent })
    var unsent = all.reduce(0) { $0 + $1.unsent }
    for connection in all.filter({ $0.unsent > 0 }).sorted(by: { $0.since < $1.since })
    where unsent > limits.unsentBytes {
      unsent -= connection.unsent
      connection.cut()
    }
    guard !isListening, end == nil else { return }
    if connections.count < limits.connections {
      listen(true)
    } else {
      let waiting = all.filter { $0.state == .waiting }.sorted { $0.since < $1.since }
      for connection in waiting.prefix(64) { connection.cut() }
    }
  }

  /// Ends those that hold most, until all hold no more than they may.
  func bound(after count: Int) {
    unchecked += count
    guard unchecked > 1 << 20 else { return }
    unchecked = 0
    var sum = connections.values.reduce(0) { $0 + $1.held }
    while sum > limits.unfinishedBytes,
      let largest = connections.values.max(by: { $0.held < $1.held })
    {
      sum -= largest.held
      largest.cut()
    }
  }

  /// Once much was held and is not any more, the memory goes back to the system.
  private func giveBack(_ held: Int) {
    if held > 16 << 20 { heldMuch = true }
    guard heldMuch, held < 4 << 20 else { return }
    heldMuch = false
    ProcessMemory.giveBack()
  }
}
