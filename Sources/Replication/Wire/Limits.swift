/// The limits of the protocol; whatever exceeds one ends the connection.
package enum Limits {
  /// Longest frame once both sides have said Hello.
  package static let frame = 1 << 20
  /// So much of a batch fits one frame, beside its type and number.
  package static let piece = frame - 16
  /// Longest frame before that.
  package static let greetingFrame = 4 << 10
  /// Largest row that travels, encoded.
  package static let row = 64 << 20
  /// Longest name of a node, a site, a table or a column.
  package static let name = 512
  package static let columns = 2_000
  /// The names of all columns of a table together: a row that waits is kept with them.
  package static let namesBytes = 64 << 10
  /// How often the key of a table can change its shape; far more than anybody lives to see.
  package static let generations: UInt64 = 1 << 20
  /// In so many shapes of its key rows of one table are kept at a time.
  package static let keyShapes = 8
  /// Tables whose key was changed that a Hello names, at most.
  package static let tableKeys = 64
  /// Two such frontiers fit one frame.
  package static let frontierEntries = 16_384
  /// Of these so many may be of authors that nobody knows; the others are kept for members.
  package static let strangeOrigins = 1_024
  package static let rowsPerBatch = 65_536
  package static let tablesPerBatch = 2_048
  package static let termsPerBatch = 4_096
  /// A clock in ms, before or after 1970: far enough for any machine, and sums cannot overflow.
  package static let clock: Int64 = 1 << 53
  /// Up to this many rows ...
  package static let wholeRows = 1_000
  /// ... and this many bytes an exchange is merged in one commit, ...
  package static let wholeBytes = 1 << 20
  /// ... and former keys of its rows: each is noted, which takes as long as a row.
  package static let wholeFormer = 1_000
  /// Of a longer one, so many bytes ...
  package static let gatheredBytes = 4 << 20
  /// ... and batches gather, to be merged in the order of their keys.
  package static let gatheredBatches = 1_000
  package static let addresses = 16
  package static let members = 1_024
  /// Lives of one member that are told, and that are taken from what others tell.
  package static let lives = 8
  package static let reason = 1_024
  /// Longest name of the program that a member runs.
  package static let program = 32
  /// What owners have signed of their origins, in one frame: between two others get their turn.
  package static let reachesPerFrame = 512
  /// Rows that a peer may ask for by name at a time, ...
  package static let wantedRows = 256
  /// ... the longest key among them, ...
  package static let wantedKey = frame - 1_024
  /// ... and the bytes that wait of one peer.
  package static let wantedBytes = 4 << 20
  /// Rows that one frame of an account holds, at most.
  package static let accountRows = 65_536
  /// Signed statements in one frame, at most; each is at most 4 KiB long.
  package static let statementsPerFrame = 4_096
  /// Signed statements that lead from the root of a site to one member and its name.
  package static let credentialStatements = 8
  /// Objects that a joiner takes over, at most, ...
  package static let schemaObjects = 65_536
  /// ... and the bytes of their SQL together.
  package static let schemaBytes = 64 << 20
  /// Longest SQL text of one schema object.
  package static let schemaText = 512 << 10

  /// Whether a table or a column of that name can be told to others.
  package static func carries(_ name: String) -> Bool {
    name.utf8.count <= Self.name && !name.utf8.contains(0)
  }
}
