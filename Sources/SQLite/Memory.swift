import CMemory
import CSQLite

/// What SQLite holds in memory.
package enum Memory {
  /// Set once, before there is a second thread.
  nonisolated(unsafe) private static var isCountedByThread = false

  /// Has SQLite take memory without a lock, and count it for each thread. For a program of ours
  /// alone, before it does anything: the setting holds for all of SQLite in the process.
  package static func countByThread() {
    isCountedByThread = flotilla_count_memory() == SQLITE_OK
  }

  /// The bytes that SQLite holds: those taken on this thread, or in this process.
  package static var held: Int {
    isCountedByThread ? flotilla_thread_memory() : Int(sqlite3_memory_used())
  }
}
