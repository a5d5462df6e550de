import Replication
import SQLite

@testable import Store

/// Replicas of one site of which one may be the anchor, and what was signed about that.
final class AnchorSite {
  static let schema = "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT)"

  let replicas: [TestReplica]
  private(set) var appointments: [Appointment] = []

  var anchor: TestReplica { replicas[0] }
  var a: TestReplica { replicas[1] }
  var b: TestReplica { replicas[2] }

  /// The first replica is the anchor, if there is one; the row `r` is on all of them, and
  /// certified.
  init(
    _ rule: String?, schema: String = schema, pace: Pace = Pace(), count: Int = 3,
    appoints: Bool = true
  ) throws {
    replicas = try (1...count).map {
      try TestReplica(UInt64($0), schema: schema, pace: pace)
    }
    try replicas[0].store.track(["note"], rule: rule, at: replicas[0].now)
    try replicas[0].write("INSERT INTO note(id, text) VALUES ('r', 'first')", at: 0)
    try meet()
    if appoints {
      try appoint(anchor)
      try replicas[0].write("UPDATE note SET text = 'base' WHERE id = 'r'", at: 1)
      try meet()
    }
  }

  /// Signs an appointment, of which `hearers` hear at once; all, unless some are named.
  func appoint(
    _ replica: TestReplica?, isForced: Bool = false, heardBy hearers: [TestReplica]? = nil
  ) throws {
    let term = Term(number: UInt64(appointments.count + 1), incarnation: 7)
    appointments.append(
      Appointment(term: term, node: replica?.store.node, isForced: isForced))
    for replica in hearers ?? replicas { try hear(replica) }
  }

  func hear(_ replica: TestReplica) throws {
    guard let governance = Appointments.governance(of: appointments, for: replica.store.node)
    else { return }
    repeat {
      _ = try replica.store.govern(governance, at: replica.now)
      try replica.foldAll()
    } while replica.store.currentOffice.term < governance.term
  }

  /// Everybody exchanges with everybody, until nobody has anything new.
  func meet(_ some: [TestReplica]? = nil) throws {
    let some = some ?? replicas
    for _ in 0..<8 {
      let before = some.map { "\($0.store.position.frontier)\($0.store.currentJudged)" }
      for one in some {
        for other in some where one !== other {
          try one.pull(from: other)
          try one.foldAll()
        }
      }
      if some.map({ "\($0.store.position.frontier)\($0.store.currentJudged)" }) == before { return }
    }
  }

  /// Whether all hold the same rows and versions.
  var isEqual: Bool {
    get throws {
      let contents = try replicas.map { try $0.content("note") }
      return contents.allSatisfy { $0 == contents[0] }
        && replicas.allSatisfy { $0.store.position.digest == anchor.store.position.digest }
    }
  }
}

extension TestReplica {
  /// Before every `now`, and after every wall clock.
  private static let start: Int64 = 1_799_000_000_000

  /// Writes, as if it were so many seconds after the beginning, and folds it.
  func write(_ sql: String, at seconds: Int64) throws {
    try write(sql)
    let moment = Self.start + 1_000 * seconds
    try write("UPDATE _flotilla_journal SET at = \(moment)")
    while try store.fold(at: Instant(uptime: moment, wall: moment)).hasMore {}
  }

  /// The text of a row; nil if it is not there.
  func text(_ id: String = "r") throws -> String? {
    try value("SELECT text FROM note WHERE id = '\(id)'").string
  }

  func version(_ id: String = "r") throws -> Version? {
    guard let table = store.tables.table("note"), let key = table.key([.text(Array(id.utf8))])
    else { return nil }
    return try store.versions.version(table: table.id, key: key)
  }

  /// What became of its edits: outcome, reason and rule of each.
  func verdicts(of id: String? = nil) throws -> [String] {
    try store.verdicts.list(after: 0, through: .max).filter { verdict in
      id.map { verdict.key.values == [.text(Array($0.utf8))] } ?? (verdict.table == "note")
    }.map { verdict in
      [verdict.outcome.rawValue, verdict.reason, verdict.rule].compactMap { $0 }
        .joined(separator: " ")
    }
  }

  /// The conflict log: what lost, what stood, why and by which rule, the oldest first.
  func conflicts() throws -> [String] {
    try store.conflictLog.list(all: true).reversed().map { conflict in
      let sides = [conflict.loser, conflict.winner].map { side in
        guard let side else { return "?" }
        if side.isDeleted { return "(deleted)" }
        guard case .text(let bytes)? = side.values.first(where: { $0.name == "text" })?.value
        else { return "NULL" }
        return String(decoding: bytes, as: UTF8.self)
      }
      return "\(sides[0]) lost to \(sides[1]): \(conflict.reason) (\(conflict.rule))"
    }
  }

  var pendingTexts: [String] {
    get throws {
      try store.pending.all().map { item in
        let entry = try store.pending.entry(item)
        guard case .text(let bytes)? = entry?.values.first(where: { $0.name == "text" })?.value
        else { return item.version.isDeleted ? "(deleted)" : "?" }
        return String(decoding: bytes, as: UTF8.self)
      }.sorted()
    }
  }
}
