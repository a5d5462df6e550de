import Replication
import SQLite

/// From an appointment to the first verdict, where somebody else was the anchor before.
extension Store {
  /// Takes office once all who had it before have stood down, and all that they certified is here.
  func takeOfficeIfFree(at now: Instant) throws {
    guard office.part == .waiting, officeRecord.work?.task != .unveiling,
      !deletions.isRenewing, try !isUnsure()
    else { return }
    let gone = try officeRecord.awaited.isEmpty ? [] : rulings.standDowns()
    let isFree = officeRecord.awaited.allSatisfy { before in
      gone.contains {
        before.isRelieved(by: $0.ruling, $0.version) && origins.frontier.covers($0.version.dot)
      }
    }
    guard isFree else { return }
    officeRecord.office.part = .taking
    officeRecord.work = OfficeRecord.Work(task: .holding)
    // If it is little, all of it is in this commit.
    try prepareSlice(at: now)
    if officeRecord.work?.task == .forgetting { try prepareSlice(at: now) }
  }

  /// Before anything is judged: one slice of what comes first. False if that is done.
  @discardableResult
  func prepareSlice(at now: Instant) throws -> Bool {
    guard let work = officeRecord.work, work.task != .certifying else { return false }
    let isHolding = work.task == .holding
    let next =
      try isHolding ? holdParked(after: work.after) : forgetHistory(after: work.after, at: now)
    officeRecord.work =
      if let next {
        OfficeRecord.Work(task: work.task, after: next)
      } else {
        isHolding ? OfficeRecord.Work(task: .forgetting) : nil
      }
    return true
  }

  /// What waits and was written over by what stands is history of that, and does not come back if
  /// another edit takes the place of that now. Nor is what the anchor before has decided judged
  /// anew. A slice of it; gives where it goes on.
  private func forgetHistory(
    after place: VersionTable.Place?, at now: Instant
  ) throws -> VersionTable.Place? {
    let (items, next) = try pending.slice(after: place, limit: pace.comparedRows)
    for item in items {
      guard let table = tables.byID[item.table],
        let standing = try versions.version(table: item.table, key: item.key),
        try !isParkedUnjudged(standing, table, item.key)
      else { continue }
      if item.version.isHistory(of: standing) {
        try pending.remove(item)
      } else if wasDecided(item.version, under: standing) {
        try release(item, at: now)
      }
    }
    return next
  }

  /// Whether one for whom this replica has waited has given its verdict on a version, and something
  /// else stands since.
  private func wasDecided(_ version: Version, under standing: Version) -> Bool {
    !officeRecord.certifiesAll && officeRecord.awaited.contains { $0.term == judged.term }
      && judged.frontier.covers(version.dot) && version.rank < standing.rank
  }

  /// Certifies rows whose winner is tentative, or of a lower term after a forced take-over.
  func certifySlice(_ edits: inout Edits, limit: Int, at now: Instant) throws -> Bool {
    let (items, next) = try versions.slice(
      after: officeRecord.work?.after, limit: limit)
    for item in items {
      guard let table = tables.byID[item.table],
        office.mustCertify(item.version, isForced: officeRecord.certifiesAll),
        try !holdIfParked(item.version, table, item.key)
      else { continue }
      let certificate = sane(item.version, at: now).certified(
        Dot(own, edits.next()), term: office.term, epoch: nextEpoch(over: item.version),
        at: now.stamp)
      try rowVersions.keep(certificate, table, item.key, old: item.version)
      edits.addLong()
    }
    officeRecord.work = next.map { OfficeRecord.Work(task: .certifying, after: $0) }
    return next != nil
  }

  /// What is parked is judged among what waits, not certified: it would be parked for ever.
  ///
  /// Before anything is judged, for what an edit was made over is decided after it. A slice of it;
  /// gives where it goes on.
  private func holdParked(after place: VersionTable.Place?) throws -> VersionTable.Place? {
    let places = try shelf.slice(after: place, limit: pace.comparedRows)
    for place in places {
      guard let table = tables.byID[place.table], table.isTracked,
        let version = try versions.version(table: place.table, key: place.key)
      else { continue }
      _ = try holdIfParked(version, table, place.key)
    }
    return places.count < pace.comparedRows ? nil : places.last
  }

  /// True if a row is parked; its version goes on to stand until it is judged.
  private func holdIfParked(
    _ version: Version, _ table: ReplicaTable, _ key: Key
  ) throws -> Bool {
    guard !version.isDeleted, table.isTracked, viewpoint.isUndecided(version),
      let entry = try shelf.entry(table: table.id, key: key), entry.why.isParked
    else { return false }
    try hold(version, entry, table, key)
    return true
  }

  /// Whether what stands of a row is parked and waits to be judged like what came for it: then
  /// nothing stands there that an edit would have to be weighed against.
  func isParkedUnjudged(_ standing: Version, _ table: ReplicaTable, _ key: Key) throws -> Bool {
    guard !standing.isDeleted, viewpoint.isUndecided(standing) else { return false }
    let waiting = try pending.version(table: table.id, key: key, origin: standing.dot.origin)
    guard waiting?.dot == standing.dot else { return false }
    return try shelf.why(table: table.id, key: key)?.isParked == true
  }
}
