import FoundationEssentials
import Glibc
import Replication
import Store

/// A token that was made. JSON: `{name, token, tables, expires}`; it is shown this once.
public struct NewTokenReport: Codable, Sendable, Equatable {
  public var name: String
  public var token: String
  /// By table; `*` stands for all others.
  public var tables: [String: String]
  /// ISO 8601 in UTC; null if it never ends.
  public var expires: String?
}

/// The tokens of a replica. JSON: `{tokens:[{name, tables, created, expires, expired}]}`.
public struct TokensReport: Codable, Sendable, Equatable {
  /// One token; the text of it is not kept.
  public struct Token: Codable, Sendable, Equatable {
    public var name: String
    public var tables: [String: String]
    /// ISO 8601 in UTC, as the next one.
    public var created: String
    public var expires: String?
    public var expired: Bool
  }
  public var tokens: [Token]
}

/// Who may come through the gateway of this replica.
extension Replica {
  /// Makes a token: for everything, or for the tables that are named.
  public func addToken(
    _ name: String, tables: [String: TableRight] = [:], timeToLive: Duration? = nil
  ) async throws(FlotillaError) -> NewTokenReport {
    let now = try await ownStanding().siteTime
    let text = AccessToken.draw()
    let rights = tables.isEmpty ? [AccessToken.everything: .write] : try await spelled(tables)
    let token = AccessToken(
      name: name, hash: AccessToken.hash(of: text), tables: rights, created: now,
      expires: timeToLive.map { now + $0.milliseconds })
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
      name: name, token: text, tables: rights.mapValues(\.rawValue),
      expires: token.expires.map(Node.text))
  }

  /// The tables as they are spelled here; a name that is none of them is a mistake.
  private func spelled(
    _ tables: [String: TableRight]
  ) async throws(FlotillaError) -> [String: TableRight] {
    let known = try await withFile { store throws(StoreError) in
      try store.survey.figures().tables.map(\.name)
    }
    var spelled: [String: TableRight] = [:]
    for (name, right) in tables {
      if name == AccessToken.everything {
        spelled[name] = right
        continue
      }
      guard let table = known.first(where: { isSameName($0, name) }) else {
        throw FlotillaError(
          .table, "\(name) is no replicated table",
          remedy: "See: flotilla status \(shellWord(path))")
      }
      guard spelled.updateValue(right, forKey: table) == nil else {
        throw FlotillaError(.usage, "\(name) is named twice")
      }
    }
    return spelled
  }

  /// The tokens that there are, also those that have expired.
  public func tokens() async throws(FlotillaError) -> TokensReport {
    let now = try await ownStanding().siteTime
    let file = TokenFile(self)
    let tokens = try await offPool { () throws(FlotillaError) in try file.read() }
    return TokensReport(
      tokens: tokens.map { token in
        TokensReport.Token(
          name: token.name, tables: token.tables.mapValues(\.rawValue),
          created: Node.text(token.created), expires: token.expires.map(Node.text),
          expired: token.isOver(at: now))
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

  private func onTokens(
    _ body: @escaping @Sendable (inout [AccessToken]) throws(FlotillaError) -> Void
  ) async throws(FlotillaError) {
    let file = TokenFile(self)
    try await offPool { () throws(FlotillaError) in try file.change(body) }
  }
}

/// What a program that acts for others must know of this replica first.
package struct OwnStanding: Sendable {
  let rights: @Sendable (String) -> TableRight
  /// The time of the site in ms since 1970; that of this machine while it is not known.
  package let siteTime: Int64

  /// What this node itself may do with a table.
  package func right(to table: String) -> TableRight { rights(table) }
}

extension Replica {
  package func ownStanding() async throws(FlotillaError) -> OwnStanding {
    try await withFile { store throws(StoreError) in
      let rights = store.rights
      return OwnStanding(
        rights: { table in
          if rights.mayWrite(table) { return .write }
          return rights.right(to: table) == .none ? .none : .read
        }, siteTime: try NodeClock(store, .here).now.moment)
    }
  }
}
