/// The growing set of signed statements about the members of one site.
///
/// Two sets are united and nothing is ever taken out, so two admins may act at once and nothing is
/// dropped; who is a member follows from the set alone, whatever the order of arrival. The root of
/// the site signs admins, any admin signs the rest.
package struct Membership: Sendable {
  /// Statements that are not the root's, at most.
  package static let most = 65_536

  package let site: Identity
  package let rootKey: [UInt8]
  package private(set) var roll = Roll()
  /// The sum of the identities: tells two sets apart.
  package private(set) var hash: UInt64 = 0
  private(set) var statements: [Identity: SignedStatement] = [:]
  /// Those who have said that they leave: nobody says so twice.
  private var leavers: Set<Identity> = []
  package let notary: Notary

  /// The site is named by its root key.
  package init(rootKey: [UInt8], notary: Notary) {
    self.site = notary.digest(rootKey)
    self.rootKey = rootKey
    self.notary = notary
  }

  /// Takes in what is new, signed and by somebody who may say so; gives what was taken.
  package mutating func unite(_ news: [SignedStatement]) -> [SignedStatement] {
    var taken: [SignedStatement] = []
    // An admin is known by the root's word.
    for wave in [news.filter(isRoots), news.filter { !isRoots($0) }] {
      for signed in wave where take(signed) { taken.append(signed) }
      if !taken.isEmpty { roll = evaluate() }
    }
    return taken
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
  package func draft(
    _ kind: SiteStatement.Kind, by issuer: Identity, at time: Int64
  ) -> SiteStatement {
    let own = statements.filter { $0.value.statement.issuer == issuer }
    let last = own.max {
      ($0.value.statement.time, $0.key) < ($1.value.statement.time, $1.key)
    }
    return SiteStatement(
      site: site, issuer: issuer, previous: last?.key ?? .none,
      time: min(max(time, roll.newest + 1), Limits.clock),
      kind: kind)
  }

  /// What a revocation must name, so that what a node has said so far stands: its statements that
  /// no other one of it follows.
  package func heads(of issuer: Identity) -> [Identity] {
    let own = statements.filter { $0.value.statement.issuer == issuer }
    let followed = Set(own.values.map(\.statement.previous))
    return Array(
      own.keys.filter { !followed.contains($0) }.sorted().prefix(SiteStatement.mostHeads))
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

  private mutating func take(_ signed: SignedStatement) -> Bool {
    let statement = signed.statement
    let identity = identity(of: signed)
    guard statement.site == site, statements[identity] == nil, let key = key(of: statement),
      notary.isSigned(statement.bytes, signed.signature, key),
      isRoots(signed) || statements.count < Self.most
    else { return false }
    statements[identity] = signed
    if statement.kind == .leave { leavers.insert(statement.issuer) }
    hash &+= mix(identity.high ^ mix(identity.low))
    return true
  }

  /// The key of an issuer who may make such a statement; nil if it may not.
  private func key(of statement: SiteStatement) -> [UInt8]? {
    if statement.issuer == site { return rootKey }
    guard let issuer = roll.entries[statement.issuer] else { return nil }
    switch statement.kind {
    case .leave:
      return issuer.ending == nil && !leavers.contains(issuer.node) ? issuer.key : nil
    case .admit(_, let role): return issuer.role == .admin && role < .admin ? issuer.key : nil
    case .introduce, .grant, .revoke, .appoint: return issuer.role == .admin ? issuer.key : nil
    }
  }
}
