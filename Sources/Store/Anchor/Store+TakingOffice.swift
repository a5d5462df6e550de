import Replication
import SQLite

/// From an appointment to the first verdict, where somebody else was the anchor before.
extension Store {
  /// Takes office once all who had it before have stood down, and all that they certified is here.
  func takeOfficeIfFree() throws {
    guard office.part == .waiting, stability.renewal == nil, try !isUnsure() else { return }
    let gone = try officeRecord.awaited.isEmpty ? [] : rulings.standDowns()
    let isFree = officeRecord.awaited.allSatisfy { before in
      gone.contains {
        before.isRelieved(by: $0.ruling, $0.version) && origins.frontier.covers($0.version.dot)
      }
    }
    guard isFree else { return }
    officeRecord.office.part = .taking
    try holdParked()
    try forgetHistory()
  }

  /// What waits and was written over by what stands is history of that, and does not come back if
  /// another edit takes the place of that now.
  private func forgetHistory() throws {
    for item in try pending.all() {
      guard let table = tables.byID[item.table],
        let standing = try versions.version(table: item.table, key: item.key),
        item.version.isHistory(of: standing),
        try !isParkedUnjudged(standing, table, item.key)
      else { continue }
      try pending.remove(item)
    }
  }

  /// Certifies rows whose winner is tentative, or of a lower term after a forced take-over.
  func certifySlice(_ edits: inout Edits, at now: Instant) throws -> Bool {
    let (items, next) = try versions.slice(after: officeRecord.cursor, limit: pace.judgedRows)
    for item in items {
      guard let table = tables.byID[item.table],
        office.mustCertify(item.version, isForced: officeRecord.certifiesAll),
        try !holdIfParked(item.version, table, item.key)
      else { continue }
      let certificate = sane(item.version, at: now).certified(
        Dot(own, edits.next()), term: office.term, epoch: nextEpoch(over: item.version),
        at: now.stamp)
      try keep(certificate, table, item.key, old: item.version)
      edits.addLong()
    }
    officeRecord.cursor = next
    return next != nil
  }

  /// What is parked is judged among what waits, not certified: it would be parked for ever.
  ///
  /// Before anything is judged, for what an edit was made over is decided after it.
  private func holdParked() throws {
    for table in tables.tracked {
      for key in try shelf.keys(table: table.id, why: [.constraint], limit: 100_000) {
        guard let version = try versions.version(table: table.id, key: key),
          office.mustCertify(version, isForced: officeRecord.certifiesAll)
        else { continue }
        _ = try holdIfParked(version, table, key)
      }
    }
  }

  /// True if a row is parked; its version goes on to stand until it is judged.
  private func holdIfParked(
    _ version: Version, _ table: ReplicaTable, _ key: Key
  ) throws -> Bool {
    guard !version.isDeleted, table.isTracked, viewpoint.isUndecided(version),
      let entry = try shelf.entry(table: table.id, key: key), entry.why == .constraint
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
    return try shelf.entry(table: table.id, key: key)?.why == .constraint
  }
}
