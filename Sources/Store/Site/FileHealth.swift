/// What `doctor` looks at inside the file.
package struct FileHealth: Sendable, Equatable {
  /// What is wrong with the pages of the file.
  package var damage: String?
  /// The first tracked table in which a row may not be found by its key, and why.
  package var lostRows: String?
  /// What a row breaks that a program has written with checks off.
  package var breach: String?
  /// A value that its column cannot have, as a computed one.
  package var misfit: String?
  /// False if somebody dropped the journal: then writes of applications fail.
  package var hasJournal: Bool
  /// Tracked tables whose triggers are missing or not the expected ones.
  package var uncaptured: [String]
  package var journalMode: String
  /// Bytes of the database and of its write-ahead log.
  package var bytes: Int
  package var walBytes: Int

  /// Whether what the tables show can be believed.
  package var isWhole: Bool { damage == nil && lostRows == nil }
}
