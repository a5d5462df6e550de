import Replication
import SQLite

/// The exports under way by number, and the connections on which they are read.
///
/// Connection A reads export 1. When that is closed, A holds no snapshot and is kept: export 2 is
/// read on it as well. A new connection would first read the whole schema.
final class OpenExports {
  private let path: String
  /// Another file system than the machine's, by SQLite's name for it.
  private let vfs: String?
  /// Where the rows of an export are read, besides their tables.
  let versions: VersionTable
  let rulings: RulingTable
  let pending: PendingTable
  private var open: [Int64: Export] = [:]
  private var nextID: Int64 = 1
  /// A connection for the next export, with no snapshot on it.
  private(set) var spareReader: Connection?

  init(
    path: String, vfs: String?, _ versions: VersionTable, _ rulings: RulingTable,
    _ pending: PendingTable
  ) {
    (self.path, self.vfs) = (path, vfs)
    (self.versions, self.rulings, self.pending) = (versions, rulings, pending)
  }

  var isEmpty: Bool { open.isEmpty }

  /// The export of this number, until it is closed.
  subscript(id: Int64) -> Export? { open[id] }

  /// Gives an export its number.
  func add(_ export: Export) -> Int64 {
    defer { nextID += 1 }
    open[nextID] = export
    return nextID
  }

  /// Lets the snapshots go that are spent. A peer that takes nothing asks for no batch that would.
  func cutSpent(_ pace: Pace, at now: Instant) {
    for export in open.values { export.cutIfSpent(at: now, pace) }
  }

  /// Ends an export and keeps its connection; gives what was known of it.
  func close(_ id: Int64) -> Export? {
    guard let export = open.removeValue(forKey: id) else { return nil }
    spareReader = export.end()
    return export
  }

  /// Gives an export away with its snapshot and connection.
  func take(_ id: Int64) -> Export? { open.removeValue(forKey: id) }

  /// Lets everything go, as before the file is left.
  func removeAll() { (open, spareReader) = ([:], nil) }

  /// The connection of an export that has ended, or a new one.
  func reader() throws(StoreError) -> Connection {
    if let reader = spareReader.take() { return reader }
    return try newReader()
  }

  /// A connection that no other export has had.
  func newReader() throws(StoreError) -> Connection {
    try reporting { () throws(SQLiteError) in
      let reader = try Connection(path: path, mode: .readWrite, vfs: vfs)
      reader.setBusyTimeout(milliseconds: ReplicaFile.busyTimeout)
      try reader.execute("PRAGMA temp_store = FILE")
      try reader.execute("CREATE TEMP TABLE peer(origin INTEGER PRIMARY KEY, seq INTEGER NOT NULL)")
      return reader
    }
  }

  /// The next export is read on this connection, which holds no snapshot.
  func giveBack(_ reader: Connection) { spareReader = reader }

  /// Closes the connection that is kept for the next export.
  func dropReader() { spareReader = nil }
}
