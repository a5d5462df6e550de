import CSQLite

/// SQLite's locks on one file: many readers, one that will write, one alone
/// (sqlite.org/lockingv3.html). Holders are open files, by number.
struct FileLocks {
  private var readers: Set<Int> = []
  private var reserved: Int?
  private var exclusive: Int?

  var isReserved: Bool { reserved != nil || exclusive != nil }

  func isReader(_ holder: Int) -> Bool { readers.contains(holder) }

  /// Raises a holder to a level; false if another is in the way.
  mutating func raise(_ holder: Int, to level: Int32) -> Bool {
    if let exclusive, exclusive != holder { return false }
    switch level {
    case SQLITE_LOCK_SHARED: readers.insert(holder)
    case SQLITE_LOCK_RESERVED:
      if let reserved, reserved != holder { return false }
      reserved = holder
    case SQLITE_LOCK_PENDING, SQLITE_LOCK_EXCLUSIVE:
      if let reserved, reserved != holder { return false }
      reserved = holder
      guard readers.subtracting([holder]).isEmpty else { return false }
      exclusive = holder
    default: break
    }
    return true
  }

  /// Lowers a holder to a level: shared or none.
  mutating func lower(_ holder: Int, to level: Int32) {
    if reserved == holder { reserved = nil }
    if exclusive == holder { exclusive = nil }
    if level == SQLITE_LOCK_NONE { readers.remove(holder) }
  }
}
