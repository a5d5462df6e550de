/// What the statements amount to: a function of the set alone.
extension Membership {
  /// In the order of which a later statement replaces an earlier one.
  private typealias Dated = (identity: Identity, statement: SiteStatement)

  func evaluate() -> Roll {
    let dated = statements.map { (identity: $0.key, statement: $0.value.statement) }.sorted {
      ($0.statement.time, $0.identity) < ($1.statement.time, $1.identity)
    }
    var roll = Roll()
    let roots = dated.filter { $0.statement.issuer == site }
    admit(roots, to: &roll)
    let admins = Set(roll.entries.values.filter { $0.role == .admin }.map(\.node))
    end(roots, in: &roll)
    leave(dated.filter { admins.contains($0.statement.issuer) }, in: &roll)
    let standing = admins.reduce(into: Set<Identity>()) { standing, admin in
      standing.formUnion(self.standing(of: admin, dated, roll))
    }
    let valid = dated.filter {
      standing.contains($0.identity) || $0.statement.issuer == site
    }
    // No admin stands above another one.
    let counted = valid.filter {
      $0.statement.issuer == site || !admins.contains($0.statement.subject(notary).node)
    }
    roll = Roll()
    admit(counted, to: &roll)
    end(counted, in: &roll)
    leave(dated, in: &roll)
    describe(counted, in: &roll)
    let numbers = termNumbers(in: dated)
    roll.appointments = appointments(in: counted, of: numbers)
    roll.highestTerm = numbers.max() ?? 0
    // What counts no more was perhaps followed once, but is above nothing that counts.
    let highest = roll.appointments.last?.term ?? .none
    roll.appointees = Appointees(
      roll.appointments + appointments(in: dated, of: numbers).filter { $0.term < highest })
    for (_, statement) in counted {
      let subject = statement.subject(notary)
      roll.newest[subject] = max(roll.newest[subject] ?? .min, statement.time)
    }
    return roll
  }

  /// Of each issuer so many origins are exempt.
  private static let mostExempt = 16_384

  /// The numbers of terms that count: each appointment takes the next one, and a thief of a key
  /// could take the last one that there is. So a number is at most 1,000 times how many have such
  /// a number or a lower one, also of those that count no more.
  private func termNumbers(in dated: [Dated]) -> Set<UInt64> {
    let all = dated.compactMap { dated -> UInt64? in
      if case .appoint(let number, _, _) = dated.statement.kind { number } else { nil }
    }.sorted()
    var numbers: Set<UInt64> = []
    for (index, number) in all.enumerated() where number / 1_000 <= UInt64(index) {
      numbers.insert(number)
    }
    return numbers
  }

  private func appointments(in dated: [Dated], of numbers: Set<UInt64>) -> [Appointment] {
    dated.compactMap { identity, statement in
      guard case .appoint(let number, let node, let isForced) = statement.kind,
        numbers.contains(number)
      else { return nil }
      let term = Term(number: number, incarnation: identity.high)
      return Appointment(term: term, node: node, isForced: isForced)
    }.sorted { $0.term < $1.term }
  }

  private func admit(_ dated: [Dated], to roll: inout Roll) {
    for (_, statement) in dated {
      guard case .admit(let key, let role) = statement.kind else { continue }
      let node = notary.digest(key)
      roll.entries[node] = Roll.Entry(
        node: node, key: key, role: role, admittedBy: statement.issuer, since: statement.time)
    }
  }

  /// The first ending counts.
  private func end(_ dated: [Dated], in roll: inout Roll) {
    for (_, statement) in dated {
      guard case .revoke(let node, _) = statement.kind else { continue }
      if roll.entries[node]?.ending == nil {
        roll.entries[node]?.ending = .revoked(by: statement.issuer, at: statement.time)
      }
    }
  }

  private func leave(_ dated: [Dated], in roll: inout Roll) {
    for (_, statement) in dated where statement.kind == .leave {
      if roll.entries[statement.issuer]?.ending == nil {
        roll.entries[statement.issuer]?.ending = .left(at: statement.time)
      }
    }
  }

  /// What an admin has issued that counts: everything while it is one. A thief of its key could
  /// date a statement back, but not put it in front of one that the revocation names.
  private func standing(of admin: Identity, _ dated: [Dated], _ roll: Roll) -> Set<Identity> {
    let own = dated.filter { $0.statement.issuer == admin }
    guard let ending = roll.entries[admin]?.ending else { return Set(own.map(\.identity)) }
    var heads: [Identity] = []
    switch ending {
    case .revoked:
      for (_, statement) in dated where statement.issuer == site {
        if case .revoke(admin, let named) = statement.kind { heads += named }
      }
    case .left: heads = own.filter { $0.statement.kind == .leave }.map(\.identity)
    }
    let previous = Dictionary(
      uniqueKeysWithValues: own.map { ($0.identity, $0.statement.previous) })
    var standing: Set<Identity> = []
    for head in heads {
      var next = head
      while let before = previous[next], standing.insert(next).inserted { next = before }
    }
    return standing
  }

  /// Names and rights. Of two members of one name the later gets the next free number.
  private func describe(_ dated: [Dated], in roll: inout Roll) {
    var exemptions: [Identity: Int] = [:]
    for (_, statement) in dated {
      switch statement.kind {
      case .introduce(let node, let name, let words):
        roll.entries[node]?.name = name
        roll.entries[node]?.words = words
      case .grant(let node, let table, let right):
        roll.entries[node]?.tables[table.foldedForNames] = right
      case .forget(let node, let lives):
        let before = roll.entries[node]?.forgotten ?? []
        roll.entries[node]?.forgotten = before.union(lives)
      case .close(let origins):
        var exempt = roll.exempt.take() ?? []
        let room = Self.mostExempt - exemptions[statement.issuer, default: 0]
        exempt.formUnion(origins.prefix(max(0, room)))
        exemptions[statement.issuer, default: 0] += origins.count
        roll.exempt = exempt
      default: break
      }
    }
    var names = JoinerName.Taken()
    let inOrder = roll.members.sorted { ($0.since, $0.node) < ($1.since, $1.node) }
    for entry in inOrder {
      roll.entries[entry.node]?.name = names.take(entry.name)
    }
  }
}

/// The name of a node that joins.
package enum JoinerName {
  /// The wished name, or that with the next free number; of a long one no more than can be told.
  package static func free(_ name: String, beside names: Set<String>) -> String {
    var taken = Taken(names: names)
    return taken.take(name)
  }

  /// Names that are taken one after the other.
  struct Taken {
    fileprivate var names: Set<String> = []
    /// Up to where the numbers of each name are taken. An admin can let thousands in by one name.
    private var numbers: [String: Int] = [:]

    init(names: Set<String> = []) { self.names = names }

    mutating func take(_ name: String) -> String {
      guard !names.insert(name).inserted else { return name }
      // What is cut for a number is no part of it.
      let stem = name.utf8.count > Limits.name - 8 ? numbered(name, 100_000) : name
      var number = numbers[stem] ?? 2
      while !names.insert(numbered(name, number)).inserted { number += 1 }
      numbers[stem] = number + 1
      return numbered(name, number)
    }
  }

  private static func numbered(_ name: String, _ number: Int) -> String {
    let suffix = "-\(number)"
    var room = Limits.name - suffix.utf8.count
    // By scalars: one Character may be of any length.
    let start = name.unicodeScalars.prefix { scalar in
      room -= UTF8.width(scalar)
      return room >= 0
    }
    return String(String.UnicodeScalarView(start)) + suffix
  }
}
