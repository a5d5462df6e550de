/// Asks the peer what it holds: its sums, or its rows of some buckets.
package struct Inspect: Sendable, Equatable {
  /// Counts the questions of one connection and direction, from 1.
  package var number: UInt64
  /// In ascending order; none asks for the sums.
  package var buckets: [UInt8]

  package init(number: UInt64, buckets: [UInt8]) {
    self.number = number
    self.buckets = buckets
  }
}

/// What a replica holds, as its own tables have it: the answer to an `Inspect`, or a part of it.
package struct Account: Sendable, Equatable {
  /// That of the question.
  package var number: UInt64
  package var content: Content

  package enum Content: Sendable, Equatable {
    case sums(Sums)
    /// In ascending order, and not empty but at the end.
    case rows([AccountRow], isLast: Bool)
    case nothing(Reason)
  }

  /// Why there is no answer.
  package enum Reason: UInt8, Sendable {
    /// One of the two may not read every table.
    case notAllowed = 0
    /// Rows were asked for before the sums, or the file could not be read.
    case failed = 1
  }

  package struct Sums: Sendable, Equatable {
    /// What the sums cover.
    package var frontier: Frontier
    /// Rows that stand in the tables of applications.
    package var rows: UInt64
    /// Rows that are not as the replica has noted them: written past its triggers.
    package var uncaptured: UInt64
    /// Rows that hold values for columns which their table does not have.
    package var apart: UInt64
    /// A sum over what the tables show, NULL left out: equal where programs read the same.
    package var shown: UInt64
    /// The digest, with the content that stands in place of what was noted.
    package var digest: Digest

    package init(
      frontier: Frontier, rows: UInt64, uncaptured: UInt64, apart: UInt64 = 0, shown: UInt64 = 0,
      digest: Digest
    ) {
      self.frontier = frontier
      self.rows = rows
      self.uncaptured = uncaptured
      self.apart = apart
      self.shown = shown
      self.digest = digest
    }
  }

  package init(number: UInt64, _ content: Content) {
    self.number = number
    self.content = content
  }
}

/// One row as a replica has it, without its values.
package struct AccountRow: Sendable, Hashable {
  package enum State: UInt8, Sendable {
    /// It stands, or is held beside its table.
    case live = 0
    case deleted = 1
    /// It stands in its table and was never captured.
    case uncaptured = 2
    /// It has a version that is not deleted, and stands nowhere.
    case missing = 3
    /// It stands, with other content than its version has.
    case changed = 4
  }

  package var table: String
  package var key: Key
  package var state: State
  /// The version; nil of a row that was never captured.
  package var dot: Dot?
  package var stamp: Stamp
  /// Hash of the content that stands; 0 if none does.
  package var hash: UInt64

  package init(
    table: String, key: Key, state: State, dot: Dot?, stamp: Stamp, hash: UInt64
  ) {
    self.table = table
    self.key = key
    self.state = state
    self.dot = dot
    self.stamp = stamp
    self.hash = hash
  }

  /// Whether content stands.
  package var stands: Bool { state != .deleted && state != .missing }

  /// Whether it is what its version says.
  package var isCaptured: Bool { state == .live || state == .deleted }

  /// About how many bytes it takes as it travels, at most.
  package var size: Int { key.bytes.count + table.utf8.count + 48 }

  package var bucket: Int { Digest.bucket(table: tableSeed(table), key: key) }

  /// Where it comes in a list: by the name of its table, folded, then by its key.
  package var place: Place { Place(table: Array(table.foldedForNames.utf8), key: key) }

  package struct Place: Sendable, Equatable, Comparable {
    package var table: [UInt8]
    package var key: Key

    package init(table: [UInt8], key: Key) {
      self.table = table
      self.key = key
    }

    package static func < (left: Place, right: Place) -> Bool {
      left.table == right.table
        ? left.key < right.key : left.table.lexicographicallyPrecedes(right.table)
    }
  }
}
