/// What a client may take of the node, in time and room.
struct ServerLimits: Sendable {
  /// Connections at a time; further ones wait in the queue of the kernel.
  var connections = 512
  /// Requests that are worked on at a time; further ones wait.
  var requests = 64
  /// For how long, before they are told to come again.
  var turnTime: Duration = .seconds(5)
  var headerBytes = 64 << 10
  var bodyBytes = 8 << 20
  /// What all requests that are not complete yet may hold together.
  var unfinishedBytes = 64 << 20
  /// What all answers that are not sent yet may hold together.
  var unsentBytes = 128 << 20
  /// From the first byte of a request to its last.
  var requestTime: Duration = .seconds(20)
  /// Without any byte.
  var idleTime: Duration = .seconds(60)
  /// From an answer that is ready to its last byte.
  var sendTime: Duration = .seconds(60)
}
