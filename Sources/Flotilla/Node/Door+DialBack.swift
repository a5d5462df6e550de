import Network
import Replication

extension Door {
  /// So long a peer that is dialled back may take to answer, and then to say who it is.
  private static let dialBackPatience: Duration = .seconds(2)

  /// Connects, sees whose key is shown there, and hangs up as from a connection too many.
  func dialBack(_ endpoint: Endpoint, _ node: Identity) async -> Knocked {
    do throws(NetworkError) {
      let channel = try await SocketChannel.connect(to: endpoint, timeout: Self.dialBackPatience)
      let link = try await TLSChannel.dial(
        over: channel, dialling, for: .member, timeout: Self.dialBackPatience)
      defer { link.close() }
      guard case .member(let key) = link.peer, Notary.openSSL.digest(key) == node else {
        return .another
      }
      // A socket that is closed with unread bytes in it can lose the last words.
      let alarm = Alarm(after: .seconds(1)) { link.close() }
      defer { alarm.cancel() }
      try? await link.write(Message.bye(Bye(.duplicate, "connected already")).frame)
      while let bytes = try? await link.read(upTo: 4 << 10), !bytes.isEmpty {}
      return .reached
    } catch {
      return switch error.code {
      case .refused: .refused
      case .timedOut, .unreachable: .silent
      case .cancelled: .untried
      default: .another
      }
    }
  }
}
