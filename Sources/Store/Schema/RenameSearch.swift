import Replication
import SQLite

/// Finds out which columns of a table have got another name.
///
/// A migration has left `id, full_name` of `id, name`. Was the column renamed, or was one dropped
/// and another one added? The rows tell: if their content hashes are as before with `full_name`
/// counted as `name`, it was renamed. Where they cannot tell (every value is NULL, or programs have
/// written them since), place and declaration decide if they leave no choice.
struct RenameSearch {
  let connection: Connection
  let versions: VersionTable
  let shelf: Shelf

  private typealias Pair = RenameEvidence.Pair

  /// A column that has another name: its first one, and the one that it was counted by.
  struct Found {
    var first: String
    var former: String
  }

  /// The renamed columns, by their new names in small letters.
  ///
  /// `hadFirst` tells whether a column of that first name was here once and is gone.
  func renames(
    in table: ReplicaTable, _ columns: Renames.Columns, hadFirst: (String) -> Bool
  ) throws(SQLiteError) -> [String: Found] {
    guard let schema = table.schema, !columns.known.isEmpty else { return [:] }
    let present = schema.known(columns.names(of: schema))
    let evidence = RenameEvidence(connection, versions, shelf, table, schema, columns)
    let taken = Self.pairsOfTakenNames(columns.known, present)
    let found: [Pair] =
      switch try evidence.verdict(on: taken) {
      case .proven: taken
      case .none where Self.areInPlace(columns.known, present): taken
      case .none, .refuted: try search(columns.known, present, evidence)
      }
    var renamed: [String: Found] = [:]
    for pair in found {
      let (name, former) = (present[pair.new].name, columns.known[pair.old].first)
      // `name` was copied to `tmp`, dropped, and `tmp` renamed to `name`: it is itself again.
      let isBack = hadFirst(name) && !columns.known.contains { isSameName($0.name, name) }
      let first = isBack ? name : former
      renamed[folded(name)] = Found(first: first, former: former)
    }
    return renamed
  }

  /// Where each column that stayed has its name still.
  private func search(
    _ known: [ColumnNames.Known], _ present: [ColumnNames.Known], _ evidence: RenameEvidence
  ) throws(SQLiteError) -> [Pair] {
    var found = try inPlace(known, present, evidence)
    // A table that was made anew may have its columns in another order.
    // Where no row tells, one was dropped and another one added.
    let far = Self.pairsByDeclaration(known, present, without: found)
    if !far.isEmpty, case .proven = try evidence.verdict(on: found + far) {
      found += far
    }
    // One that is declared otherwise as well is told by rows alone. So is the last one that is
    // gone, wherever the last new one stands.
    for pairs in [Self.pairsByPlace, Self.pairsOfHeirs, Self.pairsOfRest] {
      for pair in pairs(known, present, found) {
        if case .proven = try evidence.verdict(on: [pair], beside: found) {
          found.append(pair)
        }
      }
    }
    return found
  }

  /// The renames by which each column has kept its place, where one has the name that another one
  /// had: `a, b` are `b, c` now, or `b, a`. No name says then which column it is.
  private static func pairsOfTakenNames(
    _ known: [ColumnNames.Known], _ present: [ColumnNames.Known]
  ) -> [Pair] {
    let (before, now) = (known.map { folded($0.name) }, present.map { folded($0.name) })
    guard before.count <= now.count else { return [] }
    let pairs = before.indices.filter { before[$0] != now[$0] }.map { Pair(new: $0, old: $0) }
    return pairs.contains { before.contains(now[$0.new]) } ? pairs : []
  }

  /// Whether each column is declared as the one in its place was, and one as none of its name was:
  /// `r13 TEXT, r14 INTEGER` are `r14 TEXT, r15 INTEGER`. Where no row tells, that does.
  private static func areInPlace(
    _ known: [ColumnNames.Known], _ present: [ColumnNames.Known]
  ) -> Bool {
    let declared = Dictionary(
      known.map { (folded($0.name), $0.declaration) }, uniquingKeysWith: { $1 })
    return known.map(\.declaration) == present.map(\.declaration)
      && present.contains { declared[folded($0.name), default: $0.declaration] != $0.declaration }
  }

  /// The renames that leave a column between the same ones that stayed.
  ///
  /// Where one column alone of its declaration is gone there, and one is new, that is taken for a
  /// rename unless rows refute it. Where there are more, each must be proven. So must all where the
  /// table has got more columns of that declaration than it has lost, or where those that stayed
  /// have moved: then a place says nothing. A column that is
  /// taken for none has a name of its own until the site says more; one that is taken for a wrong
  /// one shows the values of another.
  private func inPlace(
    _ known: [ColumnNames.Known], _ present: [ColumnNames.Known], _ evidence: RenameEvidence
  ) throws(SQLiteError) -> [Pair] {
    let (near, choices) = Self.pairsInPlace(known, present)
    let all = near + Self.inOrder(choices)
    if all.count > near.count, case .proven = try evidence.verdict(on: all) { return all }
    var found: [Pair] = []
    switch try evidence.verdict(on: near) {
    case .proven, .none: found = near
    case .refuted:
      for pair in near where all.count > 1 {
        if case .proven = try evidence.verdict(on: [pair]) { found.append(pair) }
      }
    }
    for pair in choices where !found.contains(where: { $0.new == pair.new || $0.old == pair.old }) {
      let more = found + [pair]
      if case .proven = try evidence.verdict(on: more) { found = more }
    }
    return found
  }

  /// Pairs of one declaration between the same columns that stayed: those that have no rivals, and
  /// all others that can be.
  private static func pairsInPlace(
    _ known: [ColumnNames.Known], _ present: [ColumnNames.Known]
  ) -> (near: [Pair], choices: [Pair]) {
    let (gaps, newGaps) = (gaps(in: known, without: present), gaps(in: present, without: known))
    let areInOrder = stayed(of: known, in: present) == stayed(of: present, in: known)
    let gone = gaps.values.joined().map { known[$0].declaration }
    let added = newGaps.values.joined().map { present[$0].declaration }
    var (near, choices): ([Pair], [Pair]) = ([], [])
    for (neighbour, new) in newGaps.sorted(by: { $0.key < $1.key }) {
      for place in new {
        let declaration = present[place].declaration
        let old = (gaps[neighbour] ?? []).filter { known[$0].declaration == declaration }
        let rivals = new.filter { present[$0].declaration == declaration }
        let pairs = old.map { Pair(new: place, old: $0) }
        let isEven =
          gone.filter { $0 == declaration }.count == added.filter { $0 == declaration }.count
        let isNear = areInOrder && isEven && old.count == 1 && rivals.count == 1
        if isNear { near += pairs } else { choices += pairs }
      }
    }
    return (near, choices)
  }

  /// Of all that can be: each new column in the place of the first one that is not taken.
  private static func inOrder(_ choices: [Pair]) -> [Pair] {
    choices.reduce(into: []) { pairs, pair in
      if !pairs.contains(where: { $0.new == pair.new || $0.old >= pair.old }) { pairs.append(pair) }
    }
  }

  /// The names of columns that both have, in small letters, in the order of the first.
  private static func stayed(
    of columns: [ColumnNames.Known], in others: [ColumnNames.Known]
  ) -> [String] {
    let others = Set(others.map { folded($0.name) })
    return columns.map { folded($0.name) }.filter(others.contains)
  }

  /// The places of columns that the others do not have, by the column before them that both have.
  private static func gaps(
    in columns: [ColumnNames.Known], without others: [ColumnNames.Known]
  ) -> [String: [Int]] {
    let others = Set(others.map { folded($0.name) })
    var gaps: [String: [Int]] = [:]
    var neighbour = ""
    for (place, column) in columns.enumerated() {
      let name = folded(column.name)
      guard !others.contains(name) else {
        neighbour = name
        continue
      }
      gaps[neighbour, default: []].append(place)
    }
    return gaps
  }

  /// Pairs of a declaration that one column alone has among those that are gone, and one among
  /// those that are new.
  private static func pairsByDeclaration(
    _ known: [ColumnNames.Known], _ present: [ColumnNames.Known], without found: [Pair]
  ) -> [Pair] {
    let (gone, new) = left(known, present, without: found)
    return new.sorted().compactMap { place in
      let declaration = present[place].declaration
      let old = gone.filter { known[$0].declaration == declaration }
      let rivals = new.filter { present[$0].declaration == declaration }
      return old.count == 1 && rivals.count == 1 ? Pair(new: place, old: old[0]) : nil
    }
  }

  /// Pairs of the one column that is gone between two that stayed, and the one that is new there.
  /// A key with other columns is another key.
  private static func pairsByPlace(
    _ known: [ColumnNames.Known], _ present: [ColumnNames.Known], without found: [Pair]
  ) -> [Pair] {
    let (gaps, newGaps) = (gaps(in: known, without: present), gaps(in: present, without: known))
    return newGaps.sorted { $0.key < $1.key }.compactMap { neighbour, new in
      let new = new.filter { place in !found.contains { $0.new == place } }
      let old = (gaps[neighbour] ?? []).filter { place in !found.contains { $0.old == place } }
      guard old.count == 1, new.count == 1, !known[old[0]].isOfKey, !present[new[0]].isOfKey
      else { return nil }
      return Pair(new: new[0], old: old[0])
    }
  }

  /// The one column that is gone, if it is one, and the one that is new.
  private static func pairsOfRest(
    _ known: [ColumnNames.Known], _ present: [ColumnNames.Known], without found: [Pair]
  ) -> [Pair] {
    let (gone, new) = left(known, present, without: found)
    guard gone.count == 1, new.count == 1, !known[gone[0]].isOfKey, !present[new[0]].isOfKey
    else { return [] }
    return [Pair(new: new[0], old: gone[0])]
  }

  /// The places of columns that are gone, and of those that are new, of which no pair is found yet.
  private static func left(
    _ known: [ColumnNames.Known], _ present: [ColumnNames.Known], without found: [Pair]
  ) -> (gone: [Int], new: [Int]) {
    let gone = gaps(in: known, without: present).values.joined()
    let new = gaps(in: present, without: known).values.joined()
    return (
      gone.filter { place in !found.contains { $0.old == place } },
      new.filter { place in !found.contains { $0.new == place } }
    )
  }

  /// Pairs of a new column in the place of one whose name another column has now: `name` became
  /// `full_name`, and a new `name` came.
  private static func pairsOfHeirs(
    _ known: [ColumnNames.Known], _ present: [ColumnNames.Known], without found: [Pair]
  ) -> [Pair] {
    let (before, now) = (
      Set(known.map { folded($0.name) }), Set(present.map { folded($0.name) })
    )
    return zip(known, present).enumerated().compactMap { place, columns in
      let (old, new) = columns
      guard !before.contains(folded(new.name)), now.contains(folded(old.name)), !old.isOfKey,
        old.declaration == new.declaration, !found.contains(where: { $0.new == place })
      else { return nil }
      return Pair(new: place, old: place)
    }
  }
}

extension Journal {
  /// The rows of a table that programs have written and that were not looked at yet; of very many
  /// the latest.
  static func writtenKeys(
    of table: ReplicaTable, on connection: Connection
  ) throws(SQLiteError) -> Set<Key> {
    let count = table.schema?.key.count ?? 0
    return Set(
      try readNewest(of: table.id, limit: 20_000, on: connection).compactMap { entry in
        table.key(entry.key.prefix(count).map(Replication.Value.init))
      })
  }
}
