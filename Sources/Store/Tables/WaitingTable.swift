import Replication

/// A table that the site tracks and that this replica cannot take part in.
///
/// Its rows are kept and passed on meanwhile, and are put in place as soon as the table fits. To be
/// shown by `status` and `doctor`, for nothing else says that these rows are not seen here.
package struct WaitingTable: Sendable, Equatable {
  package var name: String
  /// Whether there is nothing of that name here.
  package var isMissing: Bool
  /// Why it cannot be replicated here, as `track` would say: there is no such table, it has no
  /// primary key, it is a view.
  package var reason: String
  package var remedy: String?
  /// Rows that are kept beside it.
  package var rows: Int
  /// Rows that were here until the table was dropped or renamed. They cannot be passed on until
  /// another node has sent them again, and who gets all else from here still counts as behind. If
  /// no node has the table any more, the remedy is to stop tracking it.
  package var lost: Int
  /// Set if there is a table of that name here, and its owner has not said that it is meant.
  package var question: Question?

  /// What the owner of a table is to be asked.
  package struct Question: Sendable, Equatable {
    /// Who tracks a table of that name, if that is known.
    package var node: String?
    /// How many rows the table has here.
    package var rowsHere: Int
  }
}

/// Rows of one table that cannot be put into it at present, for one reason.
package struct ShelvedRows: Sendable, Equatable {
  package enum Reason: Sendable, Equatable {
    /// The rows stand in the table; some of their columns do not exist here.
    case missingColumns
    /// The table does not exist here, or is not tracked yet.
    case missingTable
    /// They would break a constraint beside what stands.
    case constraint
    /// They refer to rows that nobody has.
    case reference
    /// They refer to rows that are parked themselves.
    case parent
    /// They are larger than may travel: an older content stands here, or none.
    case tooLarge
  }

  package var table: String
  package var reason: Reason
  package var rows: Int
}

/// A table whose key has another shape here than at other nodes: it waits, all else goes on.
package struct WaitingKey: Sendable, Equatable {
  package var table: String
  /// The key of the table here, and elsewhere.
  package var here: KeyShape
  package var there: KeyShape
  /// True if the key was changed elsewhere and not here; else this is what it was before.
  package var isBehind: Bool
  /// Live rows of that other key that are kept here.
  package var rows: Int
  /// Who wrote them, as far as that is known; at most a few.
  package var authors: [Identity]
}

extension ShelvedRows.Reason {
  init(_ why: Shelf.Why) {
    switch why {
    case .columns: self = .missingColumns
    case .table: self = .missingTable
    case .constraint: self = .constraint
    case .reference: self = .reference
    case .parent: self = .parent
    case .tooLarge: self = .tooLarge
    }
  }
}
