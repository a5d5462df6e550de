/// One row version as it travels.
package struct WireRow: Sendable, Equatable {
  package enum Content: Sendable, Equatable {
    /// Every column of the table's shape.
    case values([Value])
    /// The row is deleted: the key alone.
    case deleted(key: [Value])
    /// The row is larger than may travel: the key alone.
    case withheld(key: [Value])
    /// No row, but what the anchor has ruled about one.
    case ruling(Ruling, key: [Value])

    package var ruling: Ruling? {
      if case .ruling(let ruling, _) = self { ruling } else { nil }
    }

    /// What travels: every column, or the key alone.
    package var values: [Value] {
      switch self {
      case .values(let values), .deleted(let values), .withheld(let values),
        .ruling(_, let values):
        values
      }
    }

    /// True if every column is there, not the key alone.
    package var isWhole: Bool {
      if case .values = self { true } else { false }
    }
  }

  /// Index into the batch's tables.
  package var table: Int
  package var version: Version
  package var content: Content

  package init(table: Int, version: Version, content: Content) {
    self.table = table
    self.version = version
    self.content = content
  }

  /// What travels: every column, or the key alone.
  package var values: [Value] { content.values }

  /// What this row adds to the check of its exchange.
  package var check: UInt64 { version.check }
}

extension Version {
  /// What a row of this version adds to the check of its exchange.
  var check: UInt64 { mix(mix(dot.origin.rawValue) ^ mix(dot.seq) ^ hash) }
}

/// What orders a row among others: all of it but the values beside its key.
package struct RowHead: Sendable {
  /// Index into the batch's tables.
  package let table: Int
  package let version: Version
  package let ruling: Ruling?
  fileprivate let isKeyOnly: Bool
  /// Those of the key, and in a whole row the others after them.
  var values: [Value]

  init(table: Int, version: Version, ruling: Ruling?, isKeyOnly: Bool, values: [Value]) {
    (self.table, self.version, self.ruling) = (table, version, ruling)
    (self.isKeyOnly, self.values) = (isKeyOnly, values)
  }

  package var key: [Value] { values }

  /// The whole row, once all of its values are there.
  var row: WireRow {
    let content: WireRow.Content =
      if let ruling {
        .ruling(ruling, key: values)
      } else if version.isDeleted {
        .deleted(key: values)
      } else {
        isKeyOnly ? .withheld(key: values) : .values(values)
      }
    return WireRow(table: table, version: version, content: content)
  }
}

/// A batch of rows that explains itself: tables, origins, rows.
package struct RowBatch: Sendable, Equatable {
  package var tables: [TableShape]
  package var rows: [WireRow]

  package init(tables: [TableShape], rows: [WireRow]) {
    self.tables = tables
    self.rows = rows
  }

  /// The sum of the rows' checks.
  package var check: UInt64 { rows.reduce(0) { $0 &+ $1.check } }
}
