/// The growing set of signed statements about the members of one site.
///
/// Two sets are united and nothing is ever taken out, so two admins may act at once and nothing is
/// dropped; who is a member follows from the set alone, whatever the order of arrival. The root of
/// the site signs admins, any admin signs the rest.
package struct Membership: Sendable {
  /// Statements of one admin, at most; the root, which makes the admins, has no limit, and who
  /// leaves says so once. So no admin can use up what others may say, and the whole is bounded.
  package static let mostOfOne = 16_384

  package let site: Identity
  package let rootKey: [UInt8]
  package private(set) var roll = Roll()
  /// The sum over the statements: tells two sets apart.
  package private(set) var hash: UInt64 = 0
  private(set) var statements: [Identity: SignedStatement] = [:]
  /// By which statement each of those leaves who have said so. Of several the one with the lowest
  /// name counts, and no other is kept: an issuer cannot make many that are ever lower.
  private var farewells: [Identity: Identity] = [:]
  /// The keys of all who were admitted, also by who is no admin any more: a node is named by its
  /// key, so what it has signed for its edits can be checked by any admission of it.
  private var keys: [Identity: [UInt8]] = [:]
  /// How many statements of each issuer were taken.
  private var counts: [Identity: Int] = [:]
  package let notary: Notary

  /// The site is named by its root key.
  package init(rootKey: [UInt8], notary: Notary) {
    self.site = notary.digest(rootKey)
    self.rootKey = rootKey
    self.notary = notary
  }

  /// Takes in what is new, signed and by somebody who may say so; gives what was taken.
  package mutating func unite(_ news: [SignedStatement]) -> [SignedStatement] {
    hear(news, untilForged: false).taken
  }

  /// What came of statements that somebody has told.
  package struct Hearing: Sendable, Equatable {
    package var taken: [SignedStatement] = []
    /// Statements whose issuer may not say that, as far as is known here: the teller may know more.
    package var doubtful = 0
    /// A statement that nobody can have checked and passed on: of another site, or not signed by
    /// the key of its issuer.
    package var isForged = false

    package init() {}
  }

  /// Takes in what is new; by default nothing more after the first forged statement, for to check
  /// a signature costs a hundred times what it costs to send one.
  package mutating func hear(
    _ news: [SignedStatement], untilForged: Bool = true
  ) -> Hearing {
    var hearing = Hearing()
    // An admin is known by the root's word, and who leaves by that of an admin.
    let others = news.filter { !isRoots($0) }
    let waves = [
      news.filter(isRoots), others.filter { $0.statement.kind != .leave },
      others.filter { $0.statement.kind == .leave },
    ]
    for wave in waves {
      let before = hearing.taken.count
      for signed in wave where !(untilForged && hearing.isForged) {
        switch take(signed) {
        case .taken: hearing.taken.append(signed)
        case .known, .noRoom: break
        case .presumed: hearing.doubtful += 1
        case .forged: hearing.isForged = true
        }
      }
      if hearing.taken.count > before { roll = evaluate() }
    }
    // Of several farewells in it one is left.
    hearing.taken.removeAll { $0.statement.kind == .leave && !knows($0) }
    return hearing
  }

  /// Everything, in an order in which another node can take it in.
  package var all: [SignedStatement] {
    statements.sorted { left, right in
      let (first, second) = (isRoots(left.value), isRoots(right.value))
      if first != second { return first }
      return (left.value.statement.time, left.key) < (right.value.statement.time, right.key)
    }.map(\.value)
  }

  /// The statements by which a node proves that it was admitted, for one who knows only the site.
  package func credential(of node: Identity) -> [SignedStatement] {
    guard let entry = roll.entries[node], let admission = admission(of: entry) else { return [] }
    guard !isRoots(admission), let admin = roll.entries[entry.admittedBy],
      let first = self.admission(of: admin)
    else { return [admission] }
    return [first, admission]
  }

  /// What a holder of a key would sign next.
  ///
  /// Later than what was said about the same thing, and no more: a statement that is dated far
  /// ahead stays in the way of its own subject alone.
  package func draft(
    _ kind: SiteStatement.Kind, by issuer: Identity, at time: Int64
  ) -> SiteStatement {
    var draft = SiteStatement(
      site: site, issuer: issuer, previous: heads(of: issuer).last ?? .none, time: time, kind: kind)
    if let newest = roll.newest[draft.subject(notary)] {
      draft.time = min(max(time, newest + 1), Limits.clock)
    }
    return draft
  }

  /// What an issuer says when it leaves.
  ///
  /// That leads back to one chain of its statements alone, and there are two if its file was put
  /// back. So it says again before what stands beside the one that it goes on with, at its times.
  package func farewell(of issuer: Identity, at time: Int64) -> [SiteStatement] {
    let heads = heads(of: issuer)
    // Another appointment would be another term.
    let term = roll.appointments.last?.term.incarnation
    let end = heads.last { chain(to: $0).contains { $0.high == term } } ?? heads.last
    let standing = end.map { chain(to: $0) } ?? []
    var words = statements.filter { name, signed in
      guard signed.statement.issuer == issuer, !standing.contains(name) else { return false }
      switch signed.statement.kind {
      case .leave, .appoint: return false
      default: return true
      }
    }.sorted { ($0.value.statement.time, $0.key) < ($1.value.statement.time, $1.key) }
      .map(\.value.statement)
    if counts[issuer, default: 0] + words.count > Self.mostOfOne { words = [] }
    words.append(draft(.leave, by: issuer, at: time))
    var previous = end ?? .none
    for index in words.indices {
      words[index].previous = previous
      previous = notary.digest(words[index].bytes)
    }
    return words
  }

  /// A statement and all that it follows.
  private func chain(to end: Identity) -> Set<Identity> {
    var chain: Set<Identity> = []
    var next = end
    while let signed = statements[next], chain.insert(next).inserted {
      next = signed.statement.previous
    }
    return chain
  }

  /// The revocations that shut a node out, and let what it has said so far stand.
  ///
  /// Who has its key can fork its statements at will, and one revocation names so many heads: all
  /// are named, by as many revocations as that takes.
  package func revocations(of node: Identity) -> [SiteStatement.Kind] {
    let (heads, most) = (heads(of: node), SiteStatement.mostHeads)
    return stride(from: 0, to: max(heads.count, 1), by: most).map { start in
      .revoke(node: node, heads: Array(heads[start...].prefix(most)))
    }
  }

  /// The statements of an issuer that no other one of it follows, in the order of time. That it
  /// leaves needs no standing, and not everybody may have heard the same farewell.
  package func heads(of issuer: Identity) -> [Identity] {
    let own = statements.filter {
      $0.value.statement.issuer == issuer && $0.value.statement.kind != .leave
    }
    let followed = Set(own.values.map(\.statement.previous))
    return own.filter { !followed.contains($0.key) }.sorted {
      ($0.value.statement.time, $0.key) < ($1.value.statement.time, $1.key)
    }.map(\.key)
  }

  package func knows(_ signed: SignedStatement) -> Bool {
    statements[identity(of: signed)] != nil
  }

  /// The name of a statement.
  package func identity(of signed: SignedStatement) -> Identity {
    notary.digest(signed.statement.bytes)
  }

  func isRoots(_ signed: SignedStatement) -> Bool { signed.statement.issuer == site }

  private func admission(of entry: Roll.Entry) -> SignedStatement? {
    statements.values.first { signed in
      signed.statement.issuer == entry.admittedBy && signed.statement.time == entry.since
        && signed.statement.kind == .admit(key: entry.key, role: entry.role)
    }
  }

  /// Whether an issuer has said as much as one may.
  package func isFull(_ issuer: Identity) -> Bool {
    issuer != site && counts[issuer, default: 0] >= Self.mostOfOne
  }

  private enum Fate {
    case taken, known, noRoom, presumed, forged
  }

  private mutating func take(_ signed: SignedStatement) -> Fate {
    let statement = signed.statement
    let isLeave = statement.kind == .leave
    let identity = identity(of: signed)
    guard statement.site == site else { return .forged }
    let farewell = isLeave ? farewells[statement.issuer] : nil
    guard statements[identity] == nil, farewell.map({ identity < $0 }) ?? true else {
      return .known
    }
    guard let key = key(of: statement) else { return .presumed }
    guard isLeave || !isFull(statement.issuer) else { return .noRoom }
    guard notary.isSigned(statement.bytes, signed.signature, key) else { return .forged }
    statements[identity] = signed
    if case .admit(let key, _) = statement.kind { keys[notary.digest(key)] = key }
    hash &+= Self.mark(identity)
    if isLeave {
      farewells[statement.issuer] = identity
      if let farewell, statements.removeValue(forKey: farewell) != nil {
        hash &-= Self.mark(farewell)
      }
    } else {
      counts[statement.issuer, default: 0] += 1
    }
    return .taken
  }

  /// The key of a node that was admitted once, whether or not that still counts.
  package func key(of node: Identity) -> [UInt8]? { keys[node] }

  private static func mark(_ name: Identity) -> UInt64 { mix(name.high ^ mix(name.low)) }

  /// The key of an issuer who may make such a statement; nil if it may not.
  private func key(of statement: SiteStatement) -> [UInt8]? {
    if statement.issuer == site { return rootKey }
    guard let issuer = roll.entries[statement.issuer] else { return nil }
    switch statement.kind {
    // Of a member that was revoked, too: else who hears of both in the other order holds more.
    case .leave: return issuer.key
    case .admit(_, let role): return issuer.role == .admin && role < .admin ? issuer.key : nil
    case .introduce, .grant, .revoke, .appoint, .forget, .close:
      return issuer.role == .admin ? issuer.key : nil
    }
  }
}
