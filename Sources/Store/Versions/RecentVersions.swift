import Replication

/// The rows that changed lately, so that a peer who lacks little is served without a scan.
///
/// It knows every version above its base frontier that is still current; a peer whose frontier
/// covers the base lacks nothing else. It lives in memory: after a restart the base is the
/// frontier at the start.
final class RecentVersions: FilePart {
  struct Entry: Sendable {
    var dot: Dot
    var table: Int64
    var key: Key
  }

  private let limit: Int
  private let origins: Origins
  /// What the open transaction has changed.
  private var touched: [Entry] = []
  private var older: [Entry] = []
  private var newer: [Entry] = []
  private var base: Frontier
  /// The frontier when `newer` began.
  private var middle: Frontier
  /// The frontier that held before the open transaction.
  private var before: Frontier

  init(_ origins: Origins, limit: Int) {
    (self.origins, self.limit) = (origins, limit)
    (base, middle, before) = (origins.frontier, origins.frontier, origins.frontier)
  }

  func begin() { (touched, before) = ([], origins.frontier) }

  func rolledBack() { touched = [] }

  /// The open transaction changes a row.
  func touch(_ dot: Dot, table: Int64, _ key: Key) {
    touched.append(Entry(dot: dot, table: table, key: key))
  }

  /// The tables in which the open transaction has changed something.
  var touchedTables: Set<Int64> { Set(touched.map(\.table)) }

  func committed() {
    append(touched)
    touched = []
    if isWaiting { restart() }
  }

  /// Notes what one commit has changed.
  private func append(_ entries: [Entry]) {
    if newer.count + entries.count > limit / 2 {
      older = newer
      base = middle
      newer = []
      middle = before
    }
    if entries.count > limit / 2 {
      // Too much for the list: whoever lacks any of it gets a scan.
      older = []
      isWaiting = true
      return
    }
    newer.append(contentsOf: entries)
  }

  /// The open transaction is too long for the list, which begins anew after it.
  private var isWaiting = false

  /// The commit that is under way ends a catch-up whose earlier slices are not in the list.
  func requireScan() { isWaiting = true }

  private func restart() {
    (older, newer, isWaiting) = ([], [], false)
    (base, middle) = (origins.frontier, origins.frontier)
  }

  /// The rows above a frontier in the order of their dots, or nil if a scan is needed.
  func above(_ frontier: Frontier) -> [Entry]? {
    guard !isWaiting, frontier.covers(base) else { return nil }
    var last: Dot?
    return (older + newer).filter { !frontier.covers($0.dot) }.sorted { $0.dot < $1.dot }
      .filter { entry in
        defer { last = entry.dot }
        return entry.dot != last
      }
  }
}
