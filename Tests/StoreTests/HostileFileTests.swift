import Replication
import SQLite
import Testing

@testable import Store

/// Files whose own tables say what cannot be: another program may write anything into them.
@Suite struct HostileFileTests {
  static let numbers: [(String, String)] = [
    ("version", "stamp"), ("version", "cstamp"), ("version", "at"), ("version", "seq"),
    ("version", "cseq"), ("origin", "seq"), ("origin", "id"), ("journal", "id"), ("journal", "at"),
    ("term", "id"), ("former", "seq"), ("former", "nseq"), ("shape", "generation"),
  ]
  static let values = ["-1", "9223372036854775807", "-9223372036854775808", "4611686018427387905"]

  /// A node says that something is wrong, or goes on; it does not end.
  @Test(arguments: numbers, values)
  func `numbers that cannot be end no node`(place: (String, String), value: String) throws {
    let replicas = try KeysTests.site(
      2, beginning: "INSERT INTO patient VALUES (1, 'Old'); INSERT INTO lab VALUES (1, 1, 'o')")
    for (replica, name) in zip(replicas, ["Ann", "Bob"]) {
      KeysTests.later(replica, than: replicas)
      try replica.write(
        "INSERT INTO patient VALUES (2, '\(name)'); INSERT INTO lab VALUES (2, 2, '\(name)')")
      try replica.foldAll()
    }
    try replicas[0].exchange(with: replicas[1])
    let replica = replicas[0]
    try replica.write("INSERT INTO patient VALUES (9, 'waiting')")
    try replica.write("UPDATE OR IGNORE _flotilla_\(place.0) SET \(place.1) = \(value)")
    func attempt(_ body: () throws -> Void) { do { try body() } catch { return } }
    attempt { try replica.foldAll() }
    attempt { try replica.reopen() }
    attempt {
      try replica.write("UPDATE patient SET name = name || 'x'; INSERT INTO lab VALUES (8, 9, '')")
    }
    for _ in 0..<2 {
      attempt { try replica.foldAll() }
      attempt { _ = try replica.export(above: Frontier()) }
      attempt { try replicas[1].pull(from: replica) }
      attempt { try replica.pull(from: replicas[1]) }
    }
    attempt { _ = try replica.store.survey.figures() }
  }
}
