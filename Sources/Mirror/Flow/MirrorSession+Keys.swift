import Flotilla
import SQLite

/// Where two rows have one number: what goes over, and what waits until the server's has another.
extension MirrorSession {
  /// Rows that news are about.
  struct Concerned {
    /// Those that were read on the server.
    let read: Set<RowKey>
    /// Those to which they refer by their numbers, and that were not read.
    let parents: Set<RowKey>

    var all: Set<RowKey> { read.union(parents) }
  }

  func concerned(by news: [News]) -> Concerned {
    let read = Set(news.map(\.name))
    guard !keys.numbered.isEmpty else { return Concerned(read: read, parents: []) }
    var found: Set<RowKey> = []
    for one in news {
      guard case .success(let row?) = one.row else { continue }
      found.formUnion(keys.references(one.link.number, row))
    }
    return Concerned(read: read, parents: found.subtracting(read))
  }

  /// Those of them that the site has, and that the server may not have: another row there may have
  /// the number, and what has come refers to that one.
  func elders(of concerned: Concerned, before: [RowKey: [Value]]) -> [MirroredRow] {
    concerned.parents.compactMap { name in
      guard let link = byNumber[name.number], let key = StoredKey.decode(name.bytes),
        let here = before[name]
      else { return nil }
      let row = MirroredRow(link, key: key, row: here)
      return isAgreed(row) ? nil : row
    }
  }

  /// Rows that a program of the site has changed since they were read `before`, and what refers to
  /// one of those. Its number may be another row's by now.
  func touched(
    _ news: [News], of concerned: Concerned, before: [RowKey: [Value]]
  ) throws(SQLiteError) -> Set<RowKey> {
    let now = try standing(concerned)
    var touched = concerned.all.filter { now[$0] != before[$0] }
    var hasGrown = !touched.isEmpty
    while hasGrown {
      hasGrown = false
      for one in news where !touched.contains(one.name) {
        guard case .success(let row?) = one.row,
          keys.references(one.link.number, row).contains(where: touched.contains)
        else { continue }
        touched.insert(one.name)
        hasGrown = true
      }
    }
    return touched
  }

  /// Has rows of the server make way for those that only the site has made. Gives what may be taken
  /// in as it was read, and whether anything has moved: then it is to be read again.
  func makeWay(
    _ news: [News], _ elders: [MirroredRow], beside pending: [RowKey: Pending],
    before: [RowKey: [Value]]
  ) throws(ServerError) -> (open: [News], hasMoved: Bool) {
    guard !keys.numbered.isEmpty else { return (news, false) }
    func isOwn(_ row: MirroredRow) -> Bool {
      guard keys.mayMove(row.name) else { return false }
      return pending[row.name]?.isTold ?? false || debts[row.name] != nil
        || held.entries[HeldRows.Name(row)]?.direction == .outward
    }
    var rivals = elders.filter(isOwn)
    var missed: [ServerKeys.Move] = []
    for one in news where !one.ids.isEmpty {
      let there = (try? one.row.get()) ?? nil
      if let there {
        let here = one.hasArrived ? nil : before[one.name]
        missed += keys.missed(by: one.link.number, there, over: here, at: one.at)
      }
      guard one.hasArrived, let here = before[one.name], there != here else { continue }
      let row = MirroredRow(one.link, key: one.key, row: here)
      if isOwn(row) { rivals.append(row) }
    }
    let moved = Dictionary(missed.map { ($0.name, $0) }) { first, _ in first }
    guard !rivals.isEmpty || !moved.isEmpty || !keys.open.isEmpty else { return (news, false) }
    // What a comparison has read is settled by that.
    let isRead = news.contains { !$0.ids.isEmpty }
    if isRead, try keys.makeWay(for: rivals, missed: Array(moved.values), self) {
      return ([], true)
    }
    return (news.filter { !isInvolved($0) }, false)
  }

  private func isInvolved(_ one: News) -> Bool {
    if case .success(let row) = one.row { return keys.involves(one.name, row) }
    return keys.involves(one.name, nil)
  }
}

extension MirrorEngine {
  /// Learns which tables give fresh numbers, and what refers to them.
  func learnKeys(_ session: MirrorSession) async throws(MirrorError) {
    let names: Set<String>
    do throws(FlotillaError) {
      names = try await replica.rekeyed(among: session.capture.links.map(\.site.name))
    } catch {
      throw .node(error)
    }
    try session.keys.learn(
      Set(names.map { $0.lowercased() }), session.capture.links, session.server)
  }

  /// Has rows of the server make way for those of the site that are about to go there.
  func makeWay(for places: [RowPlace], _ session: MirrorSession) throws(MirrorError) {
    let keys = session.keys
    let numbered = places.filter { keys.numbered[$0.link.number] != nil }
    guard !numbered.isEmpty || !keys.open.isEmpty else { return }
    var met: Set<RowKey> = []
    for (_, some) in Dictionary(grouping: numbered, by: \.link.number) {
      met.formUnion(
        try serving { () throws(ServerError) in
          try session.changedThere(some.map(\.key), some[0].link)
        })
    }
    guard !met.isEmpty || !keys.open.isEmpty else { return }
    let rows = try reading { () throws(SQLiteError) in
      var rows: [MirroredRow] = []
      for place in numbered {
        let name = RowKey(place.link.number, place.key)
        guard met.contains(name), keys.mayMove(name) else { continue }
        let row = MirroredRow(
          place.link, key: place.key, row: try session.site.row(place.link, place.key))
        if row.row != nil, !session.isAgreed(row) { rows.append(row) }
      }
      return rows
    }
    try serving { () throws(ServerError) in _ = try keys.makeWay(for: rows, session) }
  }

  /// Those of the rows that may go now. The others are owed until the server's row has moved.
  func free(
    of rows: [MirroredRow], _ session: MirrorSession
  ) throws(MirrorError) -> [MirroredRow] {
    guard !session.keys.open.isEmpty else { return rows }
    let waiting = rows.filter { session.keys.involves($0.name, $0.row) }
    guard session.debts.count + waiting.count <= Debts.most else {
      throw .server(.own("more than \(Debts.most) rows wait: \(Self.taken)"))
    }
    try reading { () throws(SQLiteError) in try session.debts.owe(waiting, Self.taken) }
    return rows.filter { !session.keys.involves($0.name, $0.row) }
  }

  private static let taken =
    "a program of the server has given the number to another row, which gets a fresh one first"
}
