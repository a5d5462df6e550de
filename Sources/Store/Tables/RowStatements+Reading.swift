import Replication

/// What a version means for the columns of this replica: its hash tells what its author counted.
extension RowStatements {
  /// What a version means for the columns of this replica, by its hash.
  struct Reading {
    /// Values without a column here that count.
    var extras: [(name: String, value: Replication.Value)]
    /// What columns here are to show, and count otherwise than the author does: he has another
    /// default.
    var otherwise: [(column: Int, value: Replication.Value)] = []
    /// The columns that stay as they stand: the version says nothing of them, and its author counts
    /// what they held before it dropped them.
    var kept: Set<Int> = []
    /// What is counted and known neither from the version nor here.
    var rest: UInt64 = 0
  }

  /// What stands in columns of which a version may say nothing.
  struct Unsaid {
    /// It does not carry them.
    var missing: [(column: Int, value: Replication.Value)]
    /// It has something else for them. Who has dropped a column and added it again counts what he
    /// had there, and shows its default.
    var others: [(column: Int, value: Replication.Value)]

    /// What a rename has brought into columns that it does not carry, nor has its author counted.
    mutating func takeBrought(
      _ standIns: [StandIn], _ statements: RowStatements
    ) -> [(column: Int, standIn: StandIn)] {
      let columns = statements.columns(for: standIns.map(\.name))
      let taken = zip(columns, standIns).compactMap { column, standIn in
        missing.first { $0.column == column && standIn.stands(as: $0.value) }
          .map { ($0.column, standIn) }
      }
      missing.removeAll { part in taken.contains { $0.0 == part.column } }
      return taken
    }
  }

  /// A value of a column here and what it adds to the sum, which takes long for a long one: so it
  /// is taken once.
  struct Part {
    var column: Int
    var value: Replication.Value
    var share: UInt64
  }

  private func parts(_ values: [(column: Int, value: Replication.Value)]) -> [Part] {
    values.map { column, value in
      Part(
        column: column, value: value,
        share: ContentHash.share(column: columnHashes[column], value))
    }
  }

  /// What may stay, the likeliest first: nothing, all that the version does not carry, or some.
  private static func choices(_ missing: [Part], _ others: [Part]) -> [[Part]] {
    let all = missing + others
    // More than a few columns at once are not worth the search.
    let masks = others.isEmpty || all.count > 8 ? 0 : 1 << all.count
    return [[], missing]
      + (0..<masks).map { mask in all.indices.filter { mask >> $0 & 1 == 1 }.map { all[$0] } }
  }

  /// Finds out what the author has counted: the columns of which the version says nothing are at
  /// their defaults, or as they stand here; or else what they hold is not known.
  func read(
    _ known: [(column: Int, value: Replication.Value)],
    _ extras: [(name: String, value: Replication.Value)], hash: UInt64, standing: Unsaid?
  ) -> Reading {
    if standing == nil {
      let guessed = guess(extras)
      if sum(known, guessed).value == hash { return Reading(extras: guessed) }
    }
    let known = parts(known)
    let shares = extras.map { ContentHash.share(column: ContentHash.column($0.name), $0.value) }
    let missing = standing.map { parts($0.missing) } ?? []
    let others = standing.map { parts($0.others) } ?? []
    var search = Search(extras: extras, shares: shares, hash: hash)
    for kept in standing == nil ? [[]] : Self.choices(missing, others) {
      let columns = Set(kept.map(\.column))
      let all = kept.isEmpty ? known : known.filter { !columns.contains($0.column) } + kept
      guard var reading = counted(all, keeping: columns, &search) else { continue }
      reading.kept = columns
      if kept.isEmpty { for part in staying(of: missing) { reading.rest &-= part.share } }
      return reading
    }
    // He counts what nobody else knows. What he does not carry stays as it stands: it is the best
    // that is known of it.
    return Reading(
      extras: guess(extras), kept: Set(missing.map(\.column)),
      rest: sum(known + missing, search).rest(to: hash))
  }

  /// What is sought for one version, and for how long: a member may send rows over which a node
  /// would think for minutes.
  private struct Search {
    let extras: [(name: String, value: Replication.Value)]
    /// What each of them adds.
    let shares: [UInt64]
    let hash: UInt64
    /// Sums that may still be tried.
    var tries = 1 << 14
  }

  private func sum(_ parts: [Part], _ search: Search) -> ContentHash {
    var sum = ContentHash()
    for part in parts where defaults[part.column] != part.value { sum.add(rest: part.share) }
    for (extra, share) in zip(search.extras, search.shares) where extra.value != .null {
      sum.add(rest: share)
    }
    return sum
  }

  /// Nearly always NULL is the default of a column that does not exist here. To keep one at its
  /// default would make a local edit of the row count it.
  private func guess(
    _ extras: [(name: String, value: Replication.Value)]
  ) -> [(name: String, value: Replication.Value)] {
    extras.filter { $0.value != .null }
  }

  /// Which of the values the author has counted; nil if the hash does not tell.
  ///
  /// Only where a column is declared is its default known, and the author may have declared it
  /// otherwise: 'new' counts for him, and is the default here. What gives the hash is right. What
  /// is kept counts, or it would not be.
  private func counted(
    _ known: [Part], keeping kept: Set<Int>, _ search: inout Search
  ) -> Reading? {
    let extras = search.extras
    let missing = sum(known, search).rest(to: search.hash)
    if missing == 0 { return Reading(extras: guess(extras)) }
    let names = Set(extras.map(\.name))
    let open =
      known.filter { part in
        part.column >= shape.keyCount
          && (!kept.contains(part.column) || defaults[part.column] == part.value)
      }
      + parts(
        defaulted(without: known.map(\.column)).filter {
          !names.contains(shape.columns[$0.column])
        })
    // What it adds to the sum if each of them counts otherwise.
    let shares =
      zip(extras, search.shares).map { $0.value == .null ? $1 : 0 &- $1 }
      + open.map { defaults[$0.column] == $0.value ? $0.share : 0 &- $0.share }
    guard
      let found = Self.places(of: missing, in: shares.prefix(extras.count), &search.tries)
        ?? Self.places(of: missing, in: shares[...], &search.tries)
    else { return nil }
    let others = Set(found)
    return Reading(
      extras: extras.indices.filter { (extras[$0].value != .null) != others.contains($0) }
        .map { extras[$0] },
      otherwise: open.indices.filter { others.contains(extras.count + $0) }
        .map { (open[$0].column, open[$0].value) })
  }

  /// The places of the shares that give a sum together; nil if none do.
  private static func places(
    of sum: UInt64, in shares: ArraySlice<UInt64>, _ tries: inout Int
  ) -> [Int]? {
    // More than a few columns at once are not worth the search.
    let most = shares.count <= 8 ? 8 : shares.count <= 64 ? 2 : 1
    return places(of: sum, in: shares, atMost: most, &tries)
  }

  private static func places(
    of sum: UInt64, in shares: ArraySlice<UInt64>, atMost most: Int, _ tries: inout Int
  ) -> [Int]? {
    if sum == 0 { return [] }
    guard most > 0, tries > 0, let first = shares.first else { return nil }
    tries -= 1
    let others = shares.dropFirst()
    if let found = places(of: sum, in: others, atMost: most, &tries) { return found }
    return places(of: sum &- first, in: others, atMost: most - 1, &tries)
      .map { [shares.startIndex] + $0 }
  }

  /// Of what stands in columns that a version does not carry, what goes on to stand: those columns
  /// take no NULL and have no other default.
  private func staying(of missing: [Part]) -> [Part] {
    missing.filter { isRequired[$0.column] && defaults[$0.column] == .null }
  }

  /// Under which name each column is counted in a version of that hash, nil for one that is not;
  /// nil if the row does not show what it says.
  ///
  /// Until the site told another first name of a column it was counted by the `former` one. Those
  /// of which values are `kept` beside the row may show what stayed from before.
  func countedNames(
    _ hash: UInt64, _ values: [Replication.Value], _ beside: Beside, kept: Set<Int>,
    former: [String: String]
  ) -> [String?]? {
    let firsts: [String?] = shape.columns
    let before: [String?] = shape.columns.map { former[folded($0)] ?? $0 }
    var bare = beside
    bare.rest = 0
    for counted in before == firsts ? [firsts] : [firsts, before] {
      guard sum(values, beside, counted).value == hash else { continue }
      var without = counted
      for column in kept { without[column] = nil }
      return sum(values, bare, without).value == hash ? without : counted
    }
    return nil
  }

  /// Whether a row shows what a version of that hash says, but for these columns: what that says of
  /// them is beside it.
  func shows(
    _ hash: UInt64, _ values: [Replication.Value], _ beside: Beside, without columns: [Int]
  ) -> Bool {
    var counted: [String?] = shape.columns
    for column in columns { counted[column] = nil }
    return sum(values, beside, counted).value == hash
  }

  private func sum(
    _ values: [Replication.Value], _ beside: Beside, _ counted: [String?]
  ) -> ContentHash {
    var sum = ContentHash()
    for (column, value) in values.enumerated() where defaults[column] != value {
      if let name = counted[column] { sum.add(column: ContentHash.column(name), value) }
    }
    beside.add(to: &sum)
    return sum
  }
}
