import CMemory

/// What SQLite holds in memory.
package enum Memory {
  /// Has SQLite take memory without a lock, and count it for each thread. For a program of ours
  /// alone, before it does anything: the setting holds for all of SQLite in the process.
  package static func countByThread() { flotilla_count_memory() }

  /// Gives what is free back to the system, after much was needed for a moment (malloc_trim(3)).
  /// The heap keeps what lies below a block that is in use, however much that is.
  package static func giveBack() { flotilla_give_back() }

  /// The bytes that SQLite holds: of those taken on this thread, or in this process.
  package static var held: Int { Int(flotilla_memory()) }
}
