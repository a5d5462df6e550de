import Replication

/// Statements that appoint an anchor, as signed by the site or one of two admins, and what they
/// mean to every node.
///
/// Of each statement the input says who issues it, when, and all that follows; the rest is made to
/// fit, for of a statement about another site nothing would follow.
func readAppointments(_ bytes: [UInt8]) {
  var reader = ByteReader(bytes)
  var statements: [SignedStatement] = []
  while statements.count < 16, let statement = try? AppointmentSite.statement(from: &reader) {
    statements.append(statement)
  }
  var (forwards, backwards) = (AppointmentSite.members, AppointmentSite.members)
  for statement in statements { _ = forwards.unite([statement]) }
  _ = backwards.unite(statements.reversed())
  _ = backwards.unite(forwards.all)
  _ = forwards.unite(backwards.all)
  demand(forwards.hash == backwards.hash, "one of two lacks a statement")
  demand(forwards.roll == backwards.roll, "one set of statements has two meanings")
  expectOneAnchor(of: forwards.roll)
}

/// The highest term counts, and it makes at most one node the anchor.
private func expectOneAnchor(of roll: Roll) {
  let highest = roll.appointments.map(\.term).max()
  let nodes = Set(roll.everybody.map(\.node) + roll.appointments.compactMap(\.node))
  var holders: [Identity] = []
  for node in nodes {
    let governance = Appointments.governance(of: roll.appointments, for: node)
    demand(governance?.term == highest, "another term counts for \(node)")
    guard let governance else { continue }
    let awaited = governance.awaited
    demand(awaited.allSatisfy { $0.node != node }, "\(node) waits for itself")
    demand(awaited.allSatisfy { $0.term < governance.term }, "\(node) waits for what comes later")
    demand(awaited.count == Set(awaited.map(\.node)).count, "\(node) waits twice for one")
    demand(governance.vacancy.map { $0 < governance.term } ?? true, "a vacancy to come")
    let office = Office(following: governance)
    demand(!office.certifies || governance.isFirst, "\(node) certifies without waiting")
    demand(governance.without { _ in true }.awaited.isEmpty, "somebody is still waited for")
    if office.part != .none { holders.append(node) }
  }
  demand(holders.count <= 1, "\(holders) are all the anchor")
  demand(holders.first == roll.appointments.last?.node, "the anchor is none")
}

/// A site with two admins and two more members, whose notary believes everything.
enum AppointmentSite {
  private static let keys = (1...4).map { [UInt8](repeating: $0, count: 32) }
  private static let notary = Notary(
    digest: { Identity(high: hash64($0, seed: 1), low: hash64($0, seed: 2)) },
    isSigned: { _, _, _ in true })
  static let empty = Membership(rootKey: [UInt8](repeating: 0, count: 32), notary: notary)

  static let nodes = keys.map(notary.digest)
  /// Who may issue statements: the site, and its admins.
  static let issuers = [empty.site] + nodes.prefix(2)

  static let members: Membership = {
    var members = empty
    for (index, key) in keys.enumerated() {
      let kind = SiteStatement.Kind.admit(key: key, role: index < 2 ? .admin : .writer)
      _ = members.unite([signed(members.draft(kind, by: members.site, at: 1))])
    }
    return members
  }()

  private static func signed(_ statement: SiteStatement) -> SignedStatement {
    SignedStatement(statement, signature: [UInt8](repeating: 0, count: 64))
  }

  /// Reads a statement as it travels, behind what is made to fit.
  static func statement(from reader: inout ByteReader) throws(WireError) -> SignedStatement {
    let issuer = issuers[Int(try reader.byte("issuer")) % issuers.count]
    let time = Int64(try reader.byte("time"))
    let kind = try reader.blob("kind", limit: 256)
    return try SignedStatement(bytes(issuer, time, kind) + [UInt8](repeating: 0, count: 64))
  }

  /// One that leaves, without its last byte, which says of which kind it is.
  private static func bytes(_ issuer: Identity, _ time: Int64, _ kind: [UInt8]) -> [UInt8] {
    let statement = SiteStatement(
      site: empty.site, issuer: issuer, previous: .none, time: time, kind: .leave)
    return statement.bytes.dropLast() + kind
  }

  /// The input that says this.
  static func input(_ issuer: UInt8, _ time: UInt8, _ kind: SiteStatement.Kind) -> [UInt8] {
    let statement = SiteStatement(
      site: empty.site, issuer: empty.site, previous: .none, time: Int64(time), kind: kind)
    var writer = ByteWriter()
    writer.byte(issuer)
    writer.byte(time)
    writer.blob(Array(statement.bytes.dropFirst(bytes(empty.site, Int64(time), []).count)))
    return writer.bytes
  }
}
