import Network
import Replication

/// Looking for the inviter on the air, where anybody can show the hint of the code.
///
/// Sixty fake services that take a connection and say nothing held a joiner for a quarter of an
/// hour. So several are tried at a time, each once, and of very many no more than come first.
extension Pairing {
  /// What the search has found.
  enum Attempt: Sendable {
    case seen
    /// Nobody can be seen from here, for this reason: the search is over.
    case blind(String)
    /// Why there is nothing; nil if there may be something again.
    case trouble(String?)
    /// Who answers there knows the code.
    case open(TLSChannel, Endpoint)
  }

  /// Services that are tried at a time, and in all: each takes 15 s at most.
  private static let atATime = 32
  private static let inAll = 128

  /// Tells what is found until the time of the search is over and all attempts have ended. Where
  /// there is no discovery it ends at once: who has typed the command is not to wait for nothing.
  func search(_ told: AsyncStream<Attempt>.Continuation) async {
    await withTaskGroup(of: Void.self) { group in
      var tried: Set<Endpoint> = []
      var running = 0
      var hasWorked = false
      for await event in air.services(Self.search) {
        switch event {
        case .unavailable(let reason):
          guard hasWorked else {
            told.yield(.blind(reason))
            return
          }
          told.yield(.trouble(reason))
        case .available:
          hasWorked = true
          told.yield(.trouble(nil))
        case .lost: break
        case .found(let service):
          hasWorked = true
          told.yield(.seen)
          guard shows(service), tried.count < Self.inAll,
            tried.insert(service.endpoint).inserted
          else { continue }
          if running == Self.atATime {
            await group.next()
            running -= 1
          }
          running += 1
          group.addTask { await attempt(service.endpoint, told) }
        }
      }
    }
    told.finish()
  }

  private func attempt(
    _ endpoint: Endpoint, _ told: AsyncStream<Attempt>.Continuation
  ) async {
    do {
      let channel = try await connect(to: endpoint, SeenSite())
      // Whoever is first is talked to; the others hang up.
      if case .terminated = told.yield(.open(channel, endpoint)) { channel.close() }
    } catch {
      told.yield(.trouble(error.message))
    }
  }
}
