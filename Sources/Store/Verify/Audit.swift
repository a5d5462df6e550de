import Replication
import SQLite

/// A look at every row and every version, in slices, in snapshots of a replica whose journal is
/// empty: whether the tables of the applications are what the versions say.
final class Audit {
  enum Phase {
    /// Versions, by the number of their table and their key: the sums, and rows that are missing.
    case versions(table: Int64, after: Key)
    /// Rows of the tables, one table after the other.
    case rows(table: Int, after: Key?)
    case done
  }

  /// The snapshot, an export that sends nothing.
  var snapshot: Int64
  var phase = Phase.versions(table: .min, after: Key(bytes: []))
  let frontier: Frontier
  /// Sums of each digest.
  struct Sums {
    var (leading, here) = (Digest(), Digest())

    init() {}

    init(_ table: DigestTable) { (leading, here) = (table.digest, table.here) }

    mutating func replace(_ table: ReplicaTable, _ key: Key, old: Version?, new: Version?) {
      if table.counts(in: .leading) {
        leading.replace(table: table.seed, key: key, old: old, new: new)
      }
      if table.counts(in: .here) { here.replace(table: table.seed, key: key, old: old, new: new) }
    }

    func differing(from other: Sums) -> [Int] {
      leading.differing(from: other.leading) + here.differing(from: other.here)
    }
  }

  /// The sums that the replica goes by, and those in its file.
  let held: Sums
  let stored: Sums
  /// The sums of the versions, and the same with the content that stands.
  var versions = Sums()
  var standing = Sums()
  /// What is found so far.
  var result: AuditResult
  /// Tables that have to be compared with their versions.
  var wrong: Set<Int64> = []
  /// Versions and rows that it has looked at, together.
  var seen = 0
  /// Tables of which it was seen that every row is found by its key.
  var sound: Set<Int64> = []
  /// A table that is damaged, and how: nothing can be said of its rows.
  var damage: (table: String, finding: String)?
  /// How often it began anew because the snapshot was held for too long.
  var restarts = 0

  init(snapshot: Int64, frontier: Frontier, held: Sums, stored: Sums) {
    self.snapshot = snapshot
    self.frontier = frontier
    self.held = held
    self.stored = stored
    self.result = AuditResult(frontier: frontier)
  }

  /// Counts a finding, and keeps it unless there are many.
  func note(
    _ kind: AuditResult.Finding.Kind, _ table: ReplicaTable, _ key: Key
  ) {
    result.count += 1
    if kind == .waiting { result.waiting += 1 } else { wrong.insert(table.id) }
    guard result.findings.count < AuditResult.most, key.bytes.count <= AuditResult.longestKey
    else { return }
    result.findings.append(AuditResult.Finding(table: table.nameHere, key: key, kind: kind))
  }
}

/// What an audit has found.
package struct AuditResult: Sendable {
  /// Findings that are kept; more are only counted.
  package static let most = 1_000
  static let longestKey = 1_024

  /// A row that is not as the replica has noted it.
  package struct Finding: Sendable, Equatable {
    package enum Kind: String, Sendable {
      /// Its content is another one than that of its version.
      case changed
      /// It stands, and has no version, or one that says that it was deleted.
      case added
      /// It has a version, and stands nowhere.
      case removed
      /// It was edited without the right to, and waits to be put back.
      case waiting
    }
    package var table: String
    package var key: Key
    package var kind: Kind
  }

  package let frontier: Frontier
  /// The digest, with the content that stands.
  package var digest = Digest()
  /// The same of what tables have here, where another shape of a key leads.
  package var digestHere = Digest()
  /// Rows that stand in the tables of applications.
  package var rows = 0
  /// Those that hold values for columns which their table does not have.
  package var apart = 0
  /// A sum over what the tables of applications show, whatever is held beside them.
  package var shown: UInt64 = 0
  /// Rows that are held beside their tables.
  package var parked = 0
  package var findings: [Finding] = []
  /// All of them, and those that wait to be put back.
  package var count = 0
  package var waiting = 0
  /// Sums that are not those of the versions.
  package var wrongSums = 0
  /// Rows without a version, in the order of an account.
  package var strays: [AccountRow] = []

  package func digest(_ scope: DigestScope) -> Digest { scope == .here ? digestHere : digest }

  /// Rows that were written past the triggers.
  package var uncaptured: Int { count - waiting }
  /// Those, and the sums as one finding.
  package var repairable: Int { uncaptured + (wrongSums > 0 ? 1 : 0) }
}
