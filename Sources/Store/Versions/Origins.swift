import Replication
import SQLite

/// The frontier on disk, and the small numbers that stand for origins in the version table.
final class Origins: FilePart {
  let connection: Connection
  private var numbers: [Origin: Int64] = [:]
  private var origins: [Int64: Origin] = [:]
  /// The one that was asked for last: row after row has the same.
  private var last: (origin: Origin, number: Int64)?
  private(set) var frontier = Frontier()

  init(_ connection: Connection) throws(SQLiteError) {
    self.connection = connection
    try reload()
  }

  /// Reads everything again, for instance after a transaction was rolled back.
  func reload() throws(SQLiteError) {
    var entries: [Origin: UInt64] = [:]
    var (numbers, origins): ([Origin: Int64], [Int64: Origin]) = ([:], [:])
    for row in try connection.rows("SELECT id, origin, seq FROM _flotilla_origin") {
      guard let id = row[0].integer, id > 0, let raw = row[1].integer, let seq = row[2].integer
      else { continue }
      let origin = Origin(rawValue: UInt64(bitPattern: raw))
      numbers[origin] = id
      origins[id] = origin
      // No peer reads a greater one, and it has to be possible to count on.
      entries[origin] = min(UInt64(clamping: seq), 1 << 62)
    }
    (self.numbers, self.origins, last) = (numbers, origins, nil)
    frontier = Frontier(entries)
  }

  func number(of origin: Origin) throws(SQLiteError) -> Int64 {
    if let last, last.origin == origin { return last.number }
    if let number = numbers[origin] {
      last = (origin, number)
      return number
    }
    let raw = Int64(bitPattern: origin.rawValue)
    try connection.run("INSERT INTO _flotilla_origin(origin, seq) VALUES (?, 0)", [.integer(raw)])
    let number = connection.lastInsertRowID
    numbers[origin] = number
    origins[number] = origin
    return number
  }

  /// Whether the origins that a version names have numbers, or can get them beside those in `new`,
  /// which get them as well. Whoever writes may name any number of origins that never were.
  func hasRoom(for version: Version, beside new: inout Set<Origin>) -> Bool {
    var all: Set<Origin>?
    version.eachNamed { dot in
      guard numbers[dot.origin] == nil, !new.contains(dot.origin) else { return }
      all = (all ?? new).union([dot.origin])
    }
    guard let all else { return true }
    guard numbers.count + all.count <= Self.most else { return false }
    new = all
    return true
  }

  /// As many as have sent something may be named beside them.
  private static let most = 2 * Limits.frontierEntries

  func knownNumber(of origin: Origin) -> Int64? { numbers[origin] }

  func origin(of number: Int64) -> Origin? {
    if let last, last.number == number { return last.origin }
    guard let origin = origins[number] else { return nil }
    last = (origin, number)
    return origin
  }

  /// Counts nothing of others as held any more, in the open transaction: all is fetched anew.
  func forgetOthers(but own: Origin) throws(SQLiteError) {
    guard let number = numbers[own] else { return }
    try connection.run("UPDATE _flotilla_origin SET seq = 0 WHERE id <> ?", [.integer(number)])
    frontier = frontier.only(own)
  }

  /// Counts less of an origin as held, in the open transaction.
  func lower(_ origin: Origin, to seq: UInt64) throws(SQLiteError) {
    guard let number = numbers[origin], frontier[origin] > seq else { return }
    try connection.run(
      "UPDATE _flotilla_origin SET seq = ? WHERE id = ?", [.integer(Int64(seq)), .integer(number)])
    frontier = frontier.without(origin).joined(Frontier(seq > 0 ? [origin: seq] : [:]))
  }

  /// Raises the frontier, in memory and in the open transaction.
  func raise(to other: Frontier) throws(SQLiteError) {
    for (origin, seq) in other.beyond(frontier).sorted {
      let id = try number(of: origin)
      try connection.run(
        "UPDATE _flotilla_origin SET seq = ? WHERE id = ?", [.integer(Int64(seq)), .integer(id)])
      frontier.raise(origin, to: seq)
    }
  }
}

extension Version {
  /// Goes through the edits of others that it names.
  fileprivate func eachNamed(_ body: (Dot) -> Void) {
    context.dots.forEach(body)
    if created.origin != dot.origin { body(created) }
    if let image { body(image) }
    if let certificate { body(certificate.edit) }
    guard hasNumbering else { return }
    for elder in numbering.elders { body(elder.dot) }
    for parent in numbering.parents { body(parent.row) }
    for former in numbering.former {
      body(former.created)
      body(former.edit)
    }
  }
}
