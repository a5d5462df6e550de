import FoundationEssentials
import Glibc
import Replication

/// A token that was made. JSON: `{name, token, tables, expires}`; it is shown this once.
public struct NewTokenReport: Codable, Sendable, Equatable {
  public var name: String
  public var token: String
  /// By table; `*` stands for all others.
  public var tables: [String: String]
  /// ISO 8601 in UTC; null if it never ends.
  public var expires: String?
}

/// The tokens of a replica. JSON:
/// `{tokens:[{name, tables, created, expires, expired, unknown_tables}]}`.
public struct TokensReport: Codable, Sendable, Equatable {
  /// One token; the text of it is not kept.
  public struct Token: Codable, Sendable, Equatable {
    public var name: String
    public var tables: [String: String]
    /// ISO 8601 in UTC, as the next one.
    public var created: String
    public var expires: String?
    public var expired: Bool
    /// Tables that a token of a version before names and that are not here, so that it is worth the
    /// least that it says; null if there are none.
    public var unknown_tables: [String]?
  }
  public var tokens: [Token]
}

/// Who may come through the gateway of this replica.
extension Replica {
  /// Makes a token: for everything, or for the tables that are named.
  public func addToken(
    _ name: String, tables: [String: TableRight] = [:], timeToLive: Duration? = nil
  ) async throws(FlotillaError) -> NewTokenReport {
    let standing = try await ownStanding()
    let text = AccessToken.draw()
    let token = AccessToken(
      name: name, hash: AccessToken.hash(of: text), tables: try first(tables, in: standing),
      created: standing.siteTime, expires: timeToLive.map { standing.siteTime + $0.milliseconds },
      namesFirst: true)
    let path = path
    try await onTokens { tokens throws(FlotillaError) in
      guard !tokens.contains(where: { $0.name == name }) else {
        throw FlotillaError(
          .refused, "there is a token \(name) already",
          remedy: "Take another name, or: flotilla token \(shellWord(path)) remove "
            + shellWord(name))
      }
      guard tokens.count < TokenFile.most else {
        throw FlotillaError(.refused, "there are \(tokens.count) tokens; remove some first")
      }
      tokens.append(token)
    }
    return NewTokenReport(
      name: name, token: text, tables: standing.tables(of: token),
      expires: token.expires.map(Node.text))
  }

  /// The tables as the site called them first, for their names may change; a name that is none of
  /// them is a mistake.
  private func first(
    _ tables: [String: TableRight], in standing: OwnStanding
  ) throws(FlotillaError) -> [String: TableRight] {
    if tables.isEmpty { return [AccessToken.everything: .write] }
    var rights: [String: TableRight] = [:]
    for (name, right) in tables {
      guard let table = name == AccessToken.everything ? name : standing.first(of: name) else {
        throw FlotillaError(
          .table, "\(name) is no replicated table",
          remedy: "See: flotilla status \(shellWord(path))")
      }
      guard rights.updateValue(right, forKey: table) == nil else {
        throw FlotillaError(.usage, "\(name) is named twice")
      }
    }
    return rights
  }

  /// The tokens that there are, also those that have expired.
  public func tokens() async throws(FlotillaError) -> TokensReport {
    let standing = try await ownStanding()
    let file = TokenFile(self)
    let tokens = try await offPool { () throws(FlotillaError) in try file.read() }
    return TokensReport(
      tokens: tokens.map { token in
        let unknown = standing.unknownTables(of: token)
        return TokensReport.Token(
          name: token.name, tables: standing.tables(of: token),
          created: Node.text(token.created), expires: token.expires.map(Node.text),
          expired: token.isOver(at: standing.siteTime),
          unknown_tables: unknown.isEmpty ? nil : unknown)
      })
  }

  /// Takes a token back: who shows it is nobody from then on.
  public func removeToken(_ name: String) async throws(FlotillaError) {
    try await check()
    let path = path
    try await onTokens { tokens throws(FlotillaError) in
      guard tokens.contains(where: { $0.name == name }) else {
        throw FlotillaError(
          .refused, "there is no token \(name)",
          remedy: "See: flotilla token \(shellWord(path)) list")
      }
      tokens.removeAll { $0.name == name }
    }
  }

  /// Writes tokens of a version before with the first names of their tables; nothing if that leaves
  /// this one as it is.
  package func renameTokens(
    for token: AccessToken, by standing: OwnStanding
  ) async throws(FlotillaError) {
    guard standing.renamed(token) != token else { return }
    try await onTokens { tokens in tokens = tokens.map(standing.renamed) }
  }

  private func onTokens(
    _ body: @escaping @Sendable (inout [AccessToken]) throws(FlotillaError) -> Void
  ) async throws(FlotillaError) {
    let file = TokenFile(self)
    try await offPool { () throws(FlotillaError) in try file.change(body) }
  }
}
