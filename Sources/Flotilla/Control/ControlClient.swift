import CLinux
import FoundationEssentials
import Glibc
import Network

/// Asks the running node of a database.
struct ControlClient: Sendable {
  /// A node that works on an answer says so every second; one that says nothing for so long hangs.
  static let patience: Duration = .seconds(10)

  let path: String
  private let sidecar: Sidecar
  /// Who may run the node: root, who asks, and the owner of the database. A path in /tmp is
  /// anybody's once its node is gone.
  var users: Set<UInt32> = [0, geteuid()]

  init(database: String) throws(FlotillaError) {
    self.sidecar = Sidecar(database: database)
    self.path = try ControlSocket.path(database: database)
    var status = stat()
    if stat(database, &status) == 0 { users.insert(status.st_uid) }
  }

  /// How long a node may say nothing to somebody who has only so much time.
  static func patience(within timeout: Duration?) -> Duration {
    min(patience, max(timeout ?? patience, ControlServer.pulse * 2) + ControlServer.pulse)
  }

  /// The answer of the running node; nil if none runs, or it was killed before it read this. It
  /// tells `listener` how far it is.
  func ask<Body: Codable & Sendable>(
    _ request: ControlRequest, as type: Body.Type = Body.self, within timeout: Duration? = nil,
    telling listener: WorkProgress.Listener? = nil
  ) async throws(FlotillaError) -> Body? {
    guard let data = try await answer(to: request, within: timeout, telling: listener) else {
      return nil
    }
    return try Self.body(of: data, as: type)
  }

  /// The bytes of that answer, whatever it is of: so this is in the program once.
  func answer(
    to request: ControlRequest, within timeout: Duration?, telling listener: WorkProgress.Listener?
  ) async throws(FlotillaError) -> Data? {
    guard let channel = await connect() else { return nil }
    defer { channel.close() }
    let data: Data
    let patience = Self.patience(within: timeout)
    let alarm = Alarm(after: patience) { channel.close() }
    defer { alarm.cancel() }
    do {
      let wish = listener == nil ? [] : [ControlServer.blank]
      try await channel.write(wish + [UInt8](JSONEncoder().encode(request)) + [0x0A])
      data = try await Self.readAll(channel, alarm, listener)
    } catch {
      if alarm.hasRung { throw silence(patience) }
      // A process that is being killed has taken the connection, and resets it when it is gone.
      if (error as? NetworkError)?.code == .reset { return nil }
      throw FlotillaError(.node, "the running node does not answer: \(error)")
    }
    if alarm.hasRung { throw silence(patience) }
    guard !data.isEmpty else {
      throw FlotillaError(
        .node, "the running node ended before it answered", remedy: "Try again.")
    }
    return data
  }

  /// What an answer says, or the error that it tells of.
  @_semantics("optimize.sil.specialize.generic.never")
  static func body<Body: Codable & Sendable>(
    of data: Data, as type: Body.Type
  ) throws(FlotillaError) -> Body {
    guard let reply = try? JSONDecoder().decode(ControlReply<Body>.self, from: data) else {
      throw FlotillaError(
        .node, "the running node gave an answer that this version does not understand",
        remedy: "Stop it and start it again with the same version of Flotilla.")
    }
    if let failure = reply.failure {
      throw FlotillaError(
        FlotillaError.Code(failure.code), failure.message, remedy: failure.remedy,
        cause: failure.cause)
    }
    guard let body = reply.body else {
      throw FlotillaError(.node, "the running node gave an empty answer")
    }
    return body
  }

  /// A node noted its socket if its runtime folder may be another one than ours.
  private func connect() async -> SocketChannel? {
    if let channel = try? await SocketChannel.connect(toLocal: path, of: users) {
      return channel
    }
    guard let noted = sidecar.notedSocket, noted != path else { return nil }
    return try? await SocketChannel.connect(toLocal: noted, of: users)
  }

  /// Blanks and lines before the answer, which is none, only say that it is being worked on.
  private static func readAll(
    _ channel: SocketChannel, _ alarm: Alarm, _ listener: WorkProgress.Listener?
  ) async throws -> Data {
    var data = Data()
    while true {
      let bytes = try await channel.read(upTo: 64 << 10)
      guard !bytes.isEmpty else { return data }
      alarm.putOff()
      data.append(contentsOf: data.isEmpty ? bytes.drop { $0 == ControlServer.blank } : bytes[...])
      while let end = bytes.contains(0x0A) ? data.firstIndex(of: 0x0A) : nil {
        if let progress = WorkProgress(line: data[..<end]) { listener?(progress) }
        data = Data(data[(end + 1)...].drop { $0 == ControlServer.blank })
      }
    }
  }

  private func silence(_ patience: Duration) -> FlotillaError {
    let process = sidecar.holder.map(String.init)
    let who = process.map { "the running node (process \($0))" } ?? "the running node"
    let word = process ?? "PROCESS"
    return FlotillaError(
      .node, "\(who) has not answered for \(patience.components.seconds) s",
      remedy: "It hangs or was halted: kill -CONT \(word) lets it go on; or end it with kill -KILL "
        + "\(word) and run it again, no data is lost.",
      cause: "the node has not answered for \(patience.components.seconds) s")
  }
}
