import Replication
import SQLite

/// What derived triggers have failed with, by the table of the rows: what they keep lacks these.
///
/// It is known until somebody makes a trigger of that table anew or drops it: who does that looks
/// after what it keeps as well. Nothing else tells that an index is whole again.
struct DerivedTroubles: Equatable {
  private struct Trouble: Equatable {
    /// Of the triggers of the table, as they were then.
    let mark: UInt64
    let message: String
  }

  private static let mostTables = 100
  private static let longest = 500
  private var troubles: [String: Trouble] = [:]

  init() {}

  /// As they are kept in the file; none if these bytes say nothing.
  init(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    do {
      for _ in 0..<(try reader.count("tables", limit: Self.mostTables)) {
        let table = try reader.text("table", limit: Limits.name)
        let mark = try reader.word("mark")
        let message = try reader.text("message", limit: 4 * Self.longest)
        troubles[table] = Trouble(mark: mark, message: message)
      }
    } catch {
      troubles = [:]
    }
  }

  var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.uint(troubles.count)
    for (table, trouble) in troubles.sorted(by: { $0.key < $1.key }) {
      writer.text(table)
      writer.word(trouble.mark)
      writer.text(trouble.message)
    }
    return writer.bytes
  }

  var isEmpty: Bool { troubles.isEmpty }

  /// In words: of one table what failed, else of which tables as well.
  var text: String? {
    let sorted = troubles.sorted { $0.key < $1.key }
    guard let first = sorted.first else { return nil }
    guard sorted.count > 1 else { return first.value.message }
    let others = sorted.dropFirst().map(\.key).joined(separator: ", ")
    return "\(first.value.message), and at \(others)"
  }

  /// A trigger of this table has failed.
  mutating func note(_ message: String, at table: String, among triggers: [DerivedTrigger]) {
    guard troubles[table] != nil || troubles.count < Self.mostTables else { return }
    troubles[table] = Trouble(
      mark: Self.mark(of: table, triggers), message: String(message.prefix(Self.longest)))
  }

  /// Forgets what other triggers have failed with than those that there are.
  mutating func keep(of triggers: [DerivedTrigger]) {
    troubles = troubles.filter { $0.value.mark == Self.mark(of: $0.key, triggers) }
  }

  private static func mark(of table: String, _ triggers: [DerivedTrigger]) -> UInt64 {
    triggers.filter { isSameName($0.table, table) }.reduce(0) { mix($0 &+ $1.mark) }
  }
}

extension Store {
  /// What a trigger that keeps something derived has failed with, if one has.
  package var derivedTrouble: String? { derived.trouble }

  /// The same of a replica whose schema nobody has looked at.
  package func keptDerivedTrouble() throws(StoreError) -> String? {
    try reporting { () throws(SQLiteError) in try derived.keptTrouble() }
  }
}
