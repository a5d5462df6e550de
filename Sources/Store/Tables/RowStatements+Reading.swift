import Replication

/// What a version means for the columns of this replica: its hash tells what its author counted.
extension RowStatements {
  /// Which of the columns that do not exist here count in a content hash.
  ///
  /// Only where a column is declared is its default known; but the author's hash tells. To keep
  /// one at its default would make a local edit of the row count it.
  func counting(
    _ extras: [(name: String, value: Replication.Value)],
    beside known: [(column: Int, value: Replication.Value)], hash: UInt64
  ) -> [(name: String, value: Replication.Value)] {
    var base = ContentHash()
    for (column, value) in known where defaults[column] != value {
      base.add(column: columnHashes[column], value)
    }
    let hashes = extras.map { ContentHash.column($0.name) }
    // More than a few columns at once are not worth the search: nearly always NULL is the default.
    for mask in 0..<(extras.count > 8 ? 0 : 1 << extras.count) {
      var sum = base
      let chosen = extras.indices.filter { mask >> $0 & 1 == 1 }
      for index in chosen { sum.add(column: hashes[index], extras[index].value) }
      if sum.value == hash { return chosen.map { extras[$0] } }
    }
    return extras.filter { $0.value != .null }
  }

  /// What a version means for the columns of this replica, by its hash.
  struct Reading {
    /// Values without a column here that count.
    var extras: [(name: String, value: Replication.Value)]
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
    if extras.isEmpty, standing == nil {
      return Reading(extras: [], rest: sum(known, []).rest(to: hash))
    }
    for kept in standing?.choices ?? [[]] {
      let columns = Set(kept.map(\.column))
      let all = kept.isEmpty ? known : known.filter { !columns.contains($0.column) } + kept
      let chosen = extras.isEmpty ? [] : counting(extras, beside: all, hash: hash)
      if sum(all, chosen).value == hash {
        let staying = kept.isEmpty ? self.staying(of: standing) : []
        return Reading(
          extras: chosen, kept: Set(kept.map(\.column)),
          rest: sum(all + staying, chosen).rest(to: hash))
      }
    }
    let chosen = extras.isEmpty ? [] : counting(extras, beside: known, hash: hash)
    let shown = known + staying(of: standing)
    return Reading(extras: chosen, rest: sum(shown, chosen).rest(to: hash))
  }

  /// Of what stands in columns that a version does not carry, what goes on to stand: those columns
  /// take no NULL and have no other default.
  private func staying(of standing: Unsaid?) -> [(column: Int, value: Replication.Value)] {
    (standing?.missing ?? []).filter { isRequired[$0.column] && defaults[$0.column] == .null }
  }
}
