/// Why a replica takes a new origin.
///
/// An origin is the author id of one life of one replica. If a file was restored or copied, the
/// same numbers may be given to different edits, here and elsewhere; a new origin is always safe
/// and costs one entry in everybody's frontier. So one is taken whenever in doubt.
package enum Doubt: String, Sendable, Equatable, CaseIterable {
  /// The database is older than what was written down beside it.
  case restored
  /// What is written down beside the database is missing or damaged.
  case unrecorded
  /// The database was not written on this machine.
  case moved
  /// Another file is in the place of the database.
  case replaced
  /// Another node holds edits of this one that are not in the file.
  case unknown
  /// Two machines run as this node at the same time.
  case twin
  /// Rows were deleted and forgotten by the others while this node was away.
  case behind
  /// The others were told not to wait for this node any more.
  case forgotten

  /// Whether deleted rows may have gone without this file. Of a peer's word alone no such doubt
  /// comes: two copies that run sign with one key, so either shows the other what it has missed.
  package var hidesDeletes: Bool {
    switch self {
    case .behind, .twin: false
    default: true
    }
  }

  /// Whether edits made here may have numbers that others know for other edits.
  package var spoilsNumbers: Bool {
    switch self {
    case .behind, .forgotten: false
    default: true
    }
  }

  /// What has happened, in a sentence without its end.
  package var sentence: String {
    switch self {
    case .restored: "the file was restored from an older copy"
    case .unrecorded: "what Flotilla keeps beside the file was missing"
    case .moved: "the file came from another machine"
    case .replaced: "another file is in the place of this one, perhaps a restored copy"
    case .unknown: "another node holds edits from here that are not in the file, as after a restore"
    case .twin: "another copy of this node was running at the same time"
    case .behind: "this node was away for so long that others have forgotten what was deleted"
    case .forgotten: "the site was told that this node would not return"
    }
  }
}
