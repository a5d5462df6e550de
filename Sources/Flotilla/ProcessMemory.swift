import CLinux
import SQLite

/// The memory of a process that is there for its nodes.
public enum ProcessMemory {
  /// Has all threads share a few heaps. For the start of a program, before it has threads; one that
  /// does other things beside may do better without.
  ///
  /// The heap is glibc's. It gives each thread one of up to eight "arenas" per core (mallopt(3),
  /// M_ARENA_MAX), and each keeps what its thread once needed. The work of a node wanders over the
  /// threads of a pool, one piece at a time, so that every arena grows to the size of one: after a
  /// million rows five megabytes were in use and twenty-five were kept.
  ///
  /// SQLite takes its memory without a lock then, and `sqlite3_memory_used` counts nothing. So this
  /// comes before anything else that uses SQLite.
  public static func keepSmall() {
    mallopt(M_ARENA_MAX, mostArenas)
    Memory.countByThread()
  }

  /// Gives what is free back to the system, after much was needed for a moment.
  public static func giveBack() { Memory.giveBack() }

  private static let mostArenas: Int32 = 2
}
