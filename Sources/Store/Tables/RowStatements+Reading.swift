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

    /// What may stay, the likeliest first: nothing, all that the version does not carry, or some.
    var choices: [[(column: Int, value: Replication.Value)]] {
      let all = missing + others
      // More than a few columns at once are not worth the search.
      let masks = others.isEmpty || all.count > 8 ? 0 : 1 << all.count
      return [[], missing]
        + (0..<masks).map { mask in all.indices.filter { mask >> $0 & 1 == 1 }.map { all[$0] } }
    }
  }

  /// Finds out what the author has counted: the columns of which the version says nothing are at
  /// their defaults, or as they stand here; or else what they hold is not known.
  func read(
    _ known: [(column: Int, value: Replication.Value)],
    _ extras: [(name: String, value: Replication.Value)], hash: UInt64, standing: Unsaid?
  ) -> Reading {
    for kept in standing?.choices ?? [[]] {
      let columns = Set(kept.map(\.column))
      let all = kept.isEmpty ? known : known.filter { !columns.contains($0.column) } + kept
      guard var reading = counted(all, keeping: columns, extras, hash) else { continue }
      reading.kept = columns
      if kept.isEmpty {
        for (column, value) in staying(of: standing) {
          reading.rest &-= ContentHash.share(column: columnHashes[column], value)
        }
      }
      return reading
    }
    let guessed = guess(extras)
    return Reading(
      extras: guessed, rest: sum(known + staying(of: standing), guessed).rest(to: hash))
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
    _ known: [(column: Int, value: Replication.Value)], keeping kept: Set<Int>,
    _ extras: [(name: String, value: Replication.Value)], _ hash: UInt64
  ) -> Reading? {
    let guessed = guess(extras)
    let missing = sum(known, guessed).rest(to: hash)
    if missing == 0 { return Reading(extras: guessed) }
    let names = Set(extras.map(\.name))
    let open =
      known.filter { (column, value) in
        column >= shape.keyCount && (!kept.contains(column) || defaults[column] == value)
      }
      + defaulted(without: known.map(\.column)).filter { !names.contains(shape.columns[$0.column]) }
    // What it adds to the sum if each of them counts otherwise.
    let shares =
      extras.map { (name, value) in
        let share = ContentHash.share(column: ContentHash.column(name), value)
        return value == .null ? share : 0 &- share
      }
      + open.map { (column, value) in
        let share = ContentHash.share(column: columnHashes[column], value)
        return defaults[column] == value ? share : 0 &- share
      }
    guard
      let found = Self.places(of: missing, in: shares.prefix(extras.count))
        ?? Self.places(of: missing, in: shares[...])
    else { return nil }
    let others = Set(found)
    return Reading(
      extras: extras.indices.filter { (extras[$0].value != .null) != others.contains($0) }
        .map { extras[$0] },
      otherwise: open.indices.filter { others.contains(extras.count + $0) }.map { open[$0] })
  }

  /// The places of the shares that give a sum together; nil if none do.
  private static func places(of sum: UInt64, in shares: ArraySlice<UInt64>) -> [Int]? {
    // More than a few columns at once are not worth the search.
    let most = shares.count <= 8 ? 8 : shares.count <= 64 ? 2 : 1
    return places(of: sum, in: shares, atMost: most)
  }

  private static func places(
    of sum: UInt64, in shares: ArraySlice<UInt64>, atMost most: Int
  ) -> [Int]? {
    if sum == 0 { return [] }
    guard most > 0, let first = shares.first else { return nil }
    let others = shares.dropFirst()
    if let found = places(of: sum, in: others, atMost: most) { return found }
    return places(of: sum &- first, in: others, atMost: most - 1).map { [shares.startIndex] + $0 }
  }

  /// Of what stands in columns that a version does not carry, what goes on to stand: those columns
  /// take no NULL and have no other default.
  private func staying(of standing: Unsaid?) -> [(column: Int, value: Replication.Value)] {
    (standing?.missing ?? []).filter { isRequired[$0.column] && defaults[$0.column] == .null }
  }
}
