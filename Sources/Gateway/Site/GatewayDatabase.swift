import Flotilla
import FoundationEssentials
import Glibc
import Synchronization

/// One database that the gateway serves: its connections, its tokens, and what the node may do.
final class GatewayDatabase: Sendable {
  /// What is known for a moment, so that not each request has to ask for it.
  private struct Known: Sendable {
    var standing: OwnStanding?
    /// The uptime at which it was asked for.
    var asked: ContinuousClock.Instant?
    /// Who asks for it now, for all who need it: for that the file is opened once more.
    var asking: Task<Result<OwnStanding, FlotillaError>, Never>?
    var mark: [Int64]?
    var tokens: [AccessToken] = []
  }

  let name: String
  let replica: Replica
  let writer: RowDesk
  let changes: ChangeHub
  /// Clients that wait for changes, and those that follow them.
  let polls = Turnstile(most: 32)
  let followers = Turnstile(most: 320)
  /// Bytes of changes that followers have not taken yet.
  let waitingBytes = Turnstile(most: 64 << 20)
  /// Clients that write: while the file is locked they must not take the place of those that read.
  let writes = Turnstile(most: 24)
  /// Clients that wait for verdicts: each holds a connection to the node.
  let waits = Turnstile(most: 16)
  /// Clients with statements of their own.
  let queries = Turnstile(most: askerCount)
  let reader: DeskPool
  /// For statements of clients.
  let asker: DeskPool
  private let known = Mutex(Known())
  private let file: TokenFile

  private static let readerCount = 4
  private static let askerCount = 2
  /// So long what the node may do is taken as known.
  private static let memory: Duration = .seconds(1)

  init(_ replica: Replica) {
    self.replica = replica
    name = Self.name(of: replica.path)
    writer = RowDesk(replica, for: .writing)
    changes = ChangeHub(replica)
    reader = DeskPool(Self.readerCount) { RowDesk(replica, for: .reading) }
    asker = DeskPool(Self.askerCount) { RowDesk(replica, for: .queries) }
    file = TokenFile(replica)
  }

  /// The file's name without its ending.
  static func name(of path: String) -> String {
    let file = path.split(separator: "/").last.map(String.init) ?? path
    guard let stop = file.lastIndex(of: "."), stop != file.startIndex else { return file }
    return String(file[..<stop])
  }

  func standing() async throws(Problem) -> OwnStanding {
    let (kept, task) = known.withLock { known in
      if let standing = known.standing, let asked = known.asked, .now - asked < Self.memory {
        return (OwnStanding?.some(standing), known.asking)
      }
      let task = known.asking ?? Task { [self] in await ask() }
      known.asking = task
      return (nil, task)
    }
    if let kept { return kept }
    do throws(FlotillaError) {
      if let standing = try await task?.value.get() { return standing }
    } catch {
      throw Problem(error)
    }
    throw .later("node", "the node is starting or stopping")
  }

  /// Does something with tables that have the names in the standing which it gets. It throws
  /// `.renamed` if they have others by then: so it is done with those.
  func withNames<Result: Sendable>(
    _ body: (OwnStanding) async throws(Problem) -> Result
  ) async throws(Problem) -> Result {
    for _ in 0..<Self.renames {
      do throws(Problem) {
        return try await body(try await standing())
      } catch {
        guard error.kind == Problem.renamed.kind else { throw error }
        known.withLock { $0.asked = nil }
      }
    }
    throw .renamed
  }

  private static let renames = 5

  /// Reads in one transaction, with the standing by the names that tables have in it.
  @_semantics("optimize.sil.specialize.generic.never")
  func read<Result: Sendable>(
    for request: HTTPRequest? = nil, from pool: DeskPool? = nil, at seat: DeskPool.Seat? = nil,
    _ body: @Sendable (OpenFile, OwnStanding) throws(Problem) -> Result
  ) async throws(Problem) -> Result {
    try await withNames { standing throws(Problem) in
      try await (pool ?? reader).run(at: seat, for: request) { file throws(Problem) in
        try file.beginReading()
        try file.require(schema: standing.schema)
        return try body(file, standing)
      }
    }
  }

  private func ask() async -> Result<OwnStanding, FlotillaError> {
    let result: Result<OwnStanding, FlotillaError>
    do throws(FlotillaError) {
      result = .success(try await replica.ownStanding())
    } catch {
      result = .failure(error)
    }
    known.withLock { known in
      known.asking = nil
      if case .success(let standing) = result { (known.standing, known.asked) = (standing, .now) }
    }
    return result
  }

  /// Whether a token is still what it was.
  func isValid(_ token: AccessToken) throws(Problem) -> Bool { try tokens().contains(token) }

  /// All tokens, read again if their file has changed.
  private func tokens() throws(Problem) -> [AccessToken] {
    let mark = file.mark
    let kept = known.withLock { $0.mark == mark ? $0.tokens : nil }
    if let kept { return kept }
    do throws(FlotillaError) {
      let tokens = try file.read()
      known.withLock { ($0.mark, $0.tokens) = (mark, tokens) }
      return tokens
    } catch {
      throw Problem(error)
    }
  }

  /// Whose token has this hash; nil if it is nobody's, or has expired.
  func token(hash: String) async throws(Problem) -> AccessToken? {
    guard var token = try tokens().first(where: { $0.hash == hash }) else { return nil }
    if token.namesFirst != true {
      // While the file cannot be written it is worth less.
      try? await replica.renameTokens(for: token, by: try await standing())
      guard let now = try tokens().first(where: { $0.hash == hash }) else { return nil }
      token = now
    }
    if token.expires != nil, token.isOver(at: try await standing().siteTime) { return nil }
    return token
  }
}

extension Problem {
  /// The tables have other names than when rights were looked at.
  static let renamed = Problem.later("renamed", "tables are getting other names")

  /// What an error of the library means to a client.
  ///
  /// Clients may be anybody with a token: which files and processes there are here they are not
  /// told. The log is.
  init(_ error: FlotillaError) {
    switch error.code {
    case .locked: self = .locked
    case .node, .timedOut: self = .later("node", error.cause ?? error.message)
    case .readOnly: self = .readOnly
    case .notAllowed: self.init(403, "not-allowed", error.message)
    case .diskFull: self = .diskFull
    case .noAnchor: self.init(409, "no-anchor", error.message)
    case .usage, .refused: self.init(400, "usage", error.message)
    case .sql, .table: self.init(409, error.code.description, error.message)
    default:
      self.init(500, error.code.description, "the node could not do it; its log says why")
    }
    guard error.cause == nil, status != 500, ![.locked, .readOnly, .diskFull].contains(error.code)
    else {
      untold = [error.message, error.remedy].compactMap { $0 }.joined(separator: ". ")
      return
    }
    remedy = error.remedy
  }
}
