import Replication

/// What waits in the journal, on its way into versions.
///
/// 100,000 rows were written in any order of keys. Each commit of 500 of them would change 500
/// pages of versions; in the order of keys they are neighbours. So the journal is read and sorted,
/// and goes through in several commits. Its entries stay until the last of these: who begins anew
/// after a crash or a rollback finds what was folded unchanged.
///
/// A fold looks at each row as it is now, so the edit was made at the row's last touch. Therefore
/// what is written meanwhile comes first: the older touches then find the row unchanged.
struct Backlog {
  /// A row that was touched, and by which entry last.
  struct Touch {
    var depth: Int
    var table: Int64
    var key: Key
    var entry: Int64
    /// Where that found the row, if its table has rowids beside its key.
    var row: Int64?
    var moment: Dating.Moment
  }

  /// Entries that were read at one moment, and what is left of them.
  struct Window {
    let entries: ClosedRange<Int64>
    fileprivate let touches: [Touch]
    /// The places of those that are to be folded, in that order.
    fileprivate let order: [UInt32]
    fileprivate var next = 0

    var isDone: Bool { next == order.count }
    var count: Int { order.count - next }
  }

  /// The oldest entries first.
  private var windows: [Window] = []
  /// Tables that had triggers and are not here: they are compared when they are.
  private var absent: Set<Int64> = []
  /// The schema by which keys were read.
  private var schemaVersion: Int64 = -1

  /// The last entry that was read and still waits.
  var end: Int64? { windows.last?.entries.upperBound }

  /// About how many entries are older than all that was read.
  private(set) var unread = 0

  /// About how many touches wait.
  var count: Int { windows.reduce(unread) { $0 + $1.count } }

  /// Forgets all if the keys may be others by now, or the journal does not end where it should.
  mutating func check(schemaVersion: Int64, lastEntry: Int64?) {
    if schemaVersion != self.schemaVersion || end ?? .min > lastEntry ?? .min { self = Backlog() }
    self.schemaVersion = schemaVersion
  }

  /// Takes in what was written after all that waits, the newest entry first. A row counts by its
  /// last touch. What fits into one commit goes in the order of writing. `first` is the oldest
  /// entry of the journal. `most` touches are kept.
  mutating func add(
    _ touches: [Touch], of entries: ClosedRange<Int64>, after first: Int64, absent: Set<Int64>,
    atOnce limit: Int, most: Int
  ) {
    self.absent.formUnion(absent)
    // Parents before their children, and former keys last.
    var places = KeyOrder(capacity: touches.count)
    for touch in touches { places.add(rank: touch.depth, table: touch.table, touch.key) }
    var order = places.sorted { touches[$0].key }
    var last: UInt32?
    order.removeAll { place in
      let (touch, before) = (touches[Int(place)], last.map { touches[Int($0)] })
      last = place
      return before?.table == touch.table && before?.key == touch.key
    }
    if order.count <= limit {
      order.sort {
        let (left, right) = (touches[Int($0)], touches[Int($1)])
        return (left.depth, left.entry) < (right.depth, right.entry)
      }
    }
    windows.append(Window(entries: entries, touches: touches, order: order))
    // Who writes faster than this folds fills no memory: the oldest are read again later.
    while windows.count > 1, windows.reduce(0, { $0 + $1.order.count }) > most {
      windows.removeFirst()
    }
    unread = Journal.distance(from: first, to: windows[0].entries.lowerBound)
  }

  /// Entries lie between what waits and what is read now: all from there on is read again later.
  mutating func dropWindows() { windows = [] }

  mutating func takeAbsent() -> Set<Int64> {
    defer { absent = [] }
    return absent
  }

  /// The next touches of the newest window, and that window if these are its last ones.
  mutating func take(_ limit: Int) -> (touches: Run, ended: Window?)? {
    guard var window = windows.popLast() else { return nil }
    let end = min(window.order.count, window.next + limit)
    let run = Run(touches: window.touches, order: window.order[window.next..<end])
    window.next = end
    guard !window.isDone else { return (run, window) }
    windows.append(window)
    return (run, nil)
  }

  /// Touches that are folded one after another.
  struct Run {
    fileprivate let touches: [Touch]
    fileprivate let order: ArraySlice<UInt32>

    var count: Int { order.count }

    subscript(index: Int) -> Touch { touches[Int(order[order.startIndex + index])] }
  }
}
