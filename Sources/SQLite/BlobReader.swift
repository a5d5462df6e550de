import CSQLite

/// Reads one value of a table with a rowid piece by piece, so that a long one is never in memory.
///
/// It stands as long as nobody writes the row (sqlite.org/c3ref/blob_open.html).
package final class BlobReader {
  private let handle: OpaquePointer
  private let connection: Connection
  /// How long the value is.
  package let count: Int

  package init(
    table: String, column: String, row: Int64, on connection: Connection
  ) throws(SQLiteError) {
    var opened: OpaquePointer?
    let code = sqlite3_blob_open(connection.handle, "main", table, column, row, 0, &opened)
    guard code == SQLITE_OK, let opened else { throw SQLiteError(code, on: connection.handle) }
    (handle, self.connection) = (opened, connection)
    count = Int(sqlite3_blob_bytes(opened))
  }

  deinit { sqlite3_blob_close(handle) }

  /// So many bytes from there on; both must lie within the value.
  package func read(_ length: Int, from start: Int) throws(SQLiteError) -> [UInt8] {
    var code = SQLITE_OK
    let bytes = [UInt8](unsafeUninitializedCapacity: length) { buffer, filled in
      code = sqlite3_blob_read(handle, buffer.baseAddress, Int32(length), Int32(start))
      filled = code == SQLITE_OK ? length : 0
    }
    guard code == SQLITE_OK else { throw SQLiteError(code, on: connection.handle) }
    return bytes
  }
}
