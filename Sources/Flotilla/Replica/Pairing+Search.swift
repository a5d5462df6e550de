import Network
import Replication

/// Looking for the inviter on the air, where anybody can show the hint of the code.
///
/// Sixty fake services that take a connection and say nothing held a joiner for a quarter of an
/// hour. So several are tried at a time, each once, of each host in turn.
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

  /// After so long nothing more is looked for, or tried.
  private static let patience: Duration = .seconds(120)

  private enum Step: Sendable {
    case event(DiscoveryEvent)
    case noMore
    case ended(Endpoint)
    /// The time is over in which something new was to be seen, unless it was.
    case look
    case late
  }

  /// Tells what is found until nothing new is seen for a while and all attempts have ended. Among a
  /// thousand false services the inviter may be the last one that Avahi finds the address of.
  ///
  /// Where there is no discovery it ends at once: who has typed the command is not to wait for
  /// nothing.
  func search(_ told: AsyncStream<Attempt>.Continuation) async {
    let (steps, next) = AsyncStream<Step>.makeStream()
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        for await event in air.services(Self.patience) { next.yield(.event(event)) }
        next.yield(.noMore)
      }
      group.addTask {
        try? await Task.sleep(for: Self.patience)
        next.yield(.late)
      }
      var queue = SearchQueue()
      var (hasWorked, isOver) = (false, false)
      var lastNews = ContinuousClock.now
      /// When it is time to look again whether anything new is seen.
      func look(after pause: Duration) {
        group.addTask {
          guard (try? await Task.sleep(for: pause)) != nil else { return }
          next.yield(.look)
        }
      }
      look(after: quiet)
      loop: for await step in steps {
        switch step {
        case .event(.unavailable(let reason)):
          guard hasWorked else {
            told.yield(.blind(reason))
            break loop
          }
          told.yield(.trouble(reason))
        case .event(.available):
          hasWorked = true
          told.yield(.trouble(nil))
        case .event(.lost): break
        case .event(.found(let service)):
          hasWorked = true
          lastNews = .now
          told.yield(.seen)
          if shows(service) { queue.add(service.endpoint) }
        case .noMore: isOver = true
        case .look:
          let left = quiet - lastNews.duration(to: .now)
          if left > .zero { look(after: left) } else { isOver = true }
        case .ended(let endpoint): queue.ended(endpoint)
        case .late: break loop
        }
        while let endpoint = queue.next() {
          group.addTask {
            await attempt(endpoint, told)
            next.yield(.ended(endpoint))
          }
        }
        if isOver, queue.isIdle { break }
      }
      told.finish()
      group.cancelAll()
    }
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
