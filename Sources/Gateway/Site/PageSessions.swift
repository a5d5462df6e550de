import Flotilla
import Synchronization

/// Who has signed in with a browser: cookies, of which only hashes are kept, in memory alone.
///
/// A session is no more than the token that it was traded for. That one is looked up at each
/// request, so the session ends with it.
final class PageSessions: Sendable {
  /// What a cookie stands for.
  struct Session: Sendable, Equatable {
    var database: String
    /// The hash of the token that was shown.
    var token: String
    var ends: ContinuousClock.Instant
  }

  /// So long a browser stays signed in: a night's work.
  static let lifetime: Duration = .seconds(12 * 3600)
  /// Of more the one that ends first makes room.
  static let most = 256

  private let sessions = Mutex<[String: Session]>([:])

  init() {}

  /// Begins a session and gives the text of its cookie, which is kept nowhere.
  func begin(
    _ database: String, token: String, at now: ContinuousClock.Instant
  ) -> String {
    let cookie = AccessToken.draw()
    let session = Session(database: database, token: token, ends: now + Self.lifetime)
    sessions.withLock { sessions in
      sessions = sessions.filter { $0.value.ends > now }
      if sessions.count >= Self.most,
        let first = sessions.min(by: { $0.value.ends < $1.value.ends })
      {
        sessions[first.key] = nil
      }
      sessions[AccessToken.hash(of: cookie)] = session
    }
    return cookie
  }

  func find(_ cookie: String, at now: ContinuousClock.Instant) -> Session? {
    let found = sessions.withLock { $0[AccessToken.hash(of: cookie)] }
    return found.flatMap { $0.ends > now ? $0 : nil }
  }

  func end(_ cookie: String) {
    sessions.withLock { $0[AccessToken.hash(of: cookie)] = nil }
  }
}

extension HTTPRequest {
  /// The value of a cookie; of several the first.
  func cookie(_ name: String) -> String? {
    for header in headers where header.name == "cookie" {
      for pair in header.value.split(separator: ";") {
        let sides = pair.split(separator: "=", maxSplits: 1)
        if sides.count == 2, sides[0].trimmed == name { return sides[1].trimmed }
      }
    }
    return nil
  }

  /// Whether it changes nothing ("safe", RFC 9110, 9.2.1).
  var isSafe: Bool { ["GET", "HEAD"].contains(method) }

  /// Whether a browser says that a page of this gateway itself has sent it. Foreign pages have been
  /// turned away before; this one must say where it comes from.
  var namesOwnOrigin: Bool {
    header("origin") != nil || header("sec-fetch-site") == "same-origin"
  }
}
