import Replication
import SQLite
import Store

/// For a program that keeps something else equal to a replica, with plain SQL of its own.
extension Replica {
  /// Keeps what its rows lose in the conflict log of this node.
  package struct Losers: Sendable {
    fileprivate let log: OutsideLog
    fileprivate let marks: UnseenWriter

    package typealias Row = [(name: String, value: SQLite.Value)]

    /// Why a row lost: what stands is newer, was not known to its author, or refuses it.
    package enum Why: Sendable {
      case older
      case unseen
      case refused
    }

    /// Notes one in the open transaction; `OutsideLog.note` says what the parts are.
    package func note(
      _ table: String, keyCount: Int, lost: Row, isDelete: Bool, isOwn: Bool, stands: Row?,
      _ why: Why, at moment: Int64, on connection: Connection
    ) throws(SQLiteError) {
      let reason: OutsideLog.Why =
        switch why {
        case .older: .older
        case .unseen: .unseen
        case .refused: .refused
        }
      try log.note(
        table, keyCount: keyCount, lost: lost, isDelete: isDelete, isOwn: isOwn, stands: stands,
        reason, at: moment, on: connection)
    }

    /// Says of a row that the open transaction has written: who made that had not seen what stood,
    /// `standing`, nil if it was deleted. So the two meet as edits of two machines do: by the
    /// table's rule, and with a word to whose edit is lost.
    ///
    /// False if this node itself has made what stood. Then nothing is said, and `note` is for the
    /// loser.
    package func leaveToMerging(
      _ table: String, key: [SQLite.Value], over standing: Row?, on connection: Connection
    ) throws(SQLiteError) -> Bool {
      try marks.mark(table, key: key, over: standing, on: connection)
    }

    /// Notes one that goes on under a fresh key; `OutsideLog.noteRekeyed` says what the parts are.
    package func noteRekeyed(
      _ table: String, keyCount: Int, lost: Row, stands: Row?, next: [SQLite.Value], rows: Int,
      at moment: Int64, on connection: Connection
    ) throws(SQLiteError) {
      try log.noteRekeyed(
        table, keyCount: keyCount, lost: lost, stands: stands, next: next, rows: rows, at: moment,
        on: connection)
    }
  }

  package func losers(of tables: [String]) async throws(FlotillaError) -> Losers {
    try await withFile { store throws(StoreError) in
      Losers(log: store.outsideLog(of: tables), marks: store.unseenWriter(of: tables))
    }
  }

  /// A replicated table: how the site called it first, and what it is called in this file.
  package struct TableName: Sendable {
    package var first: String
    package var here: String
  }

  /// The replicated tables that are here. A table that was just renamed has its new name.
  package func tableNames() async throws(FlotillaError) -> [TableName] {
    try await withFile { store throws(StoreError) in
      store.tableSurvey.names().map { TableName(first: $0.first, here: $0.here) }
    }
  }

  /// Which of some tables give the later one of two rows of one number a fresh number.
  package func rekeyed(among tables: [String]) async throws(FlotillaError) -> Set<String> {
    try await withFile { store throws(StoreError) in
      Set(
        try store.tableSurvey.keyHandling(of: tables).filter { $0.kind == .rekey }.map(\.table))
    }
  }

  /// For each of some keys, whether a row of the table had it and was deleted, as far as is known.
  package func areDeleted(
    _ keys: [[SQLite.Value]], from table: String
  ) async throws(FlotillaError) -> [Bool] {
    try await withFile { store throws(StoreError) in try store.areDeleted(keys, from: table) }
  }

  /// The folder beside the database that belongs to this copy of it.
  package var folder: String { sidecar.folder }

  /// The file itself, whatever the path that was given leads over.
  package var file: String { sidecar.database }

  /// Which life of its file this is: another number after it was put back or copied.
  package func life() async throws(FlotillaError) -> Int64 {
    try await withFile { store throws(StoreError) in Int64(bitPattern: store.own.rawValue) }
  }

  /// The name of this node.
  package func nodeName() async throws(FlotillaError) -> String {
    try await withFile { store throws(StoreError) in store.nodeName }
  }

  /// What tells this site from all others, as text.
  package func siteMark() async throws(FlotillaError) -> String {
    try await withFile { store throws(StoreError) in
      Self.fingerprint(try store.members.rootKey())
    }
  }
}
