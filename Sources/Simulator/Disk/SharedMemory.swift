import CSQLite

/// The memory that the users of one WAL share, with its eight locks (sqlite.org/walformat.html).
final class SharedMemory {
  private var regions: [UnsafeMutableRawPointer] = []
  private var regionSize = 0
  private var users: Set<Int> = []
  /// Who shares each lock: hardly ever more than three, so a list is searched faster than a set.
  private var sharers: [[Int]] = Array(repeating: [], count: Int(SQLITE_SHM_NLOCK))
  private var owner: [Int?] = Array(repeating: nil, count: Int(SQLITE_SHM_NLOCK))

  deinit { for region in regions { region.deallocate() } }

  var isUnused: Bool { users.isEmpty }

  /// A region, made if `extends`; nil if it is not there.
  func region(
    _ number: Int, size: Int, extends: Bool, for user: Int
  ) -> UnsafeMutableRawPointer? {
    users.insert(user)
    guard extends || number < regions.count else { return nil }
    regionSize = size
    while regions.count <= number {
      let region = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
      region.initializeMemory(as: UInt8.self, repeating: 0, count: size)
      regions.append(region)
    }
    return regions[number]
  }

  /// Takes or gives back locks; false if another is in the way.
  func lock(_ range: Range<Int>, flags: Int32, by user: Int) -> Bool {
    let isShared = flags & SQLITE_SHM_SHARED != 0
    if flags & SQLITE_SHM_UNLOCK != 0 {
      for slot in range { free(slot, of: user) }
      return true
    }
    for slot in range {
      if let owner = owner[slot], owner != user { return false }
      if !isShared, sharers[slot].contains(where: { $0 != user }) { return false }
    }
    for slot in range {
      if !isShared {
        owner[slot] = user
      } else if !sharers[slot].contains(user) {
        sharers[slot].append(user)
      }
    }
    return true
  }

  /// As a new one, in the same place: for one user that has it mapped and holds no lock.
  func clear(for user: Int) {
    for region in regions {
      region.initializeMemory(as: UInt8.self, repeating: 0, count: regionSize)
    }
    users = [user]
    sharers = Array(repeating: [], count: sharers.count)
    owner = Array(repeating: nil, count: owner.count)
  }

  /// A user closes the file, or its process is gone.
  func leave(_ user: Int) {
    users.remove(user)
    for slot in sharers.indices { free(slot, of: user) }
  }

  private func free(_ slot: Int, of user: Int) {
    if let index = sharers[slot].firstIndex(of: user) { sharers[slot].remove(at: index) }
    if owner[slot] == user { owner[slot] = nil }
  }
}
