import Replication

extension Store {
  /// How far the comparison of a table has come; kept on disk, so that a kill resumes it.
  struct Comparison {
    enum Phase: UInt8 {
      /// Rows of the table: new ones and changed ones become versions.
      case rows = 0
      /// Versions without a row: they become deletes.
      case versions = 1
      /// Rows of a table that had no version at all: nothing can have been deleted.
      case firstRows = 2
      /// Rows from before an end of tracking that have gone since: they become deletes, so that
      /// they go where nobody has heard of that end, too.
      case ended = 3
      /// Rows that lack columns which they had: what these count is kept beside the row.
      case columns = 4
      /// Rows of a table whose key a migration has changed.
      case rekeyed = 5
      /// What others have sent of such a table before it had that key here.
      case held = 6

      var next: Phase? {
        switch self {
        case .columns: .rows
        case .rekeyed: .held
        case .rows: .versions
        case .versions, .firstRows, .held: .ended
        case .ended: nil
        }
      }
    }

    var table: Int64
    var phase: Phase
    var after: Key?
    /// Set until the rows are looked at of a table that a migration has changed.
    var remake: Remake?
    /// Set while an index may hide rows: nothing is compared before that is checked.
    var isDoubted = false

    /// Whether it goes through a table whose key was changed.
    var isOfKey: Bool { phase == .rekeyed || phase == .held }

    private static let isRemade: UInt8 = 0x80
    private static let isDoubted: UInt8 = 0x40

    var encoded: [UInt8] {
      var writer = ByteWriter()
      writer.byte(
        phase.rawValue | (remake == nil ? 0 : Self.isRemade) | (isDoubted ? Self.isDoubted : 0))
      remake?.write(to: &writer)
      writer.raw(after?.bytes ?? [])
      return writer.bytes
    }

    init(
      table: Int64, phase: Phase, after: Key?, remake: Remake? = nil, isDoubted: Bool = false
    ) {
      (self.table, self.isDoubted) = (table, isDoubted)
      self.phase = phase
      self.after = after
      self.remake = remake
    }

    init?(table: Int64, _ bytes: [UInt8]) {
      var reader = ByteReader(bytes)
      guard let first = try? reader.byte("comparison"),
        let phase = Phase(rawValue: first & ~(Self.isRemade | Self.isDoubted))
      else { return nil }
      var remake: Remake?
      if first & Self.isRemade != 0 {
        guard let read = try? Remake(from: &reader) else { return nil }
        remake = read
      }
      let key = reader.rest()
      self.init(
        table: table, phase: phase, after: key.isEmpty ? nil : Key(bytes: key), remake: remake,
        isDoubted: first & Self.isDoubted != 0)
    }
  }
}
