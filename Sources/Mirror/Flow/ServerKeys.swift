import FoundationEssentials
import SQLite

/// Two rows of one number: one that the site has made and that never was on the server, and one
/// that a program of the server has made. The server's moves to a fresh number there, with all that
/// refers to it, before either goes over.
///
/// As the site's row never was there, what refers to the number on the server means the server's
/// row, unless it came from the site itself.
final class ServerKeys {
  /// A column of the server that holds the number of a row of another one, or of its own table.
  struct Holder {
    let table: String
    let column: String
    /// Nil if the site has no such table or column.
    let mirrored: (link: TableLink, place: Int)?
  }

  /// A table whose rows may be given another number.
  struct Numbered {
    let link: TableLink
    let holders: [Holder]
    let most: Int64
  }

  /// A row that was given another number.
  struct Move {
    let link: TableLink
    let former: Int64
    var next: Int64
    /// By the server's clock, in µs since 1970: what was written before means this row.
    let at: Int64
    /// The number that it had before all moves of which nothing has come in.
    let first: Int64
    var count = 0

    var name: RowKey { RowKey(link.number, [.integer(former)]) }
    var nextName: RowKey { RowKey(link.number, [.integer(next)]) }
  }

  /// How far beyond all others the next number is: where programs go on inserting on both sides, a
  /// fresh number is soon another row's, too.
  private struct Room {
    var width: Int64 = 1
    var last = ContinuousClock.now
  }

  /// So long, in µs, a row of the server rests after a program has written it: who inserts a row
  /// and then what refers to it, each by itself, holds its number meanwhile.
  static let rest: Int64 = 3_000_000
  /// Numbers below this can be read by every language.
  static let bound: Int64 = 1 << 53
  private static let mostMoves = 10_000
  /// So long, in µs, a transaction of the server may be open that refers to a former number.
  private static let longestMemory: Int64 = 600_000_000
  private static let widest: Int64 = 1 << 16
  private static let roomTime = Duration.seconds(10)

  let site: SiteFile
  private(set) var numbered: [Int: Numbered] = [:]
  /// By the table that refers: in which place, and to which.
  private var parents: [Int: [(place: Int, number: Int)]] = [:]
  /// Rows of the site whose number another row of the server has, which is to move.
  var open: Set<RowKey> = []
  /// Those of which the server's row cannot be moved: one of the two loses.
  private(set) var stuck: Set<RowKey> = []
  private var rooms: [Int: Room] = [:]
  private(set) var moves: [RowKey: Move] = [:]
  private var following: [RowKey: Int] = [:]

  init(_ site: SiteFile) { self.site = site }

  /// Takes over which tables give fresh numbers, by their names in small letters.
  func learn(
    _ names: Set<String>, _ links: [TableLink], _ server: ServerConnection
  ) throws(MirrorError) {
    let holders = try NumberHolders(links, site, server)
    (numbered, parents) = ([:], [:])
    for link in links where link.key.count == 1 && names.contains(link.site.name.lowercased()) {
      let form = link.columns[link.key[0]].form
      guard form.isNumber else { continue }
      let found = holders.holders(of: link)
      numbered[link.number] = Numbered(link: link, holders: found, most: form.mostNumber)
      for case let (child, place)? in found.map(\.mirrored) {
        parents[child.number, default: []].append((place, link.number))
      }
    }
  }

  func mayMove(_ name: RowKey) -> Bool {
    numbered[name.number] != nil && !stuck.contains(name)
  }

  /// Whether a row has a number that two rows have, or refers to one: it goes nowhere before the
  /// server's row has moved.
  func involves(_ name: RowKey, _ row: [Value]?) -> Bool {
    guard !open.isEmpty else { return false }
    if open.contains(name) { return true }
    guard let row else { return false }
    return references(name.number, row).contains(where: open.contains)
  }

  /// The rows to which a row refers by their numbers.
  func references(_ number: Int, _ row: [Value]) -> [RowKey] {
    (parents[number] ?? []).compactMap { place, parent in
      row[place].isNull ? nil : RowKey(parent, [row[place]])
    }
  }

  /// The moves before which a program wrote a row that refers to a former number, and that the site
  /// has `here`, or not at all; in ms since 1970.
  func missed(by number: Int, _ row: [Value], over here: [Value]?, at: Int64?) -> [Move] {
    guard !moves.isEmpty, let at else { return [] }
    let others = here.map { references(number, $0) } ?? []
    return references(number, row).filter { !others.contains($0) }.compactMap { moves[$0] }
      .filter { at * 1_000 <= $0.at }
  }

  /// The first of so many numbers that are given next; nil if there are none.
  func fresh(_ count: Int, _ table: Numbered, above top: Int64) -> Int64? {
    let width = rooms[table.link.number]?.width ?? 1
    let first = max(top, 0) + width
    guard first + Int64(count) <= min(table.most, Self.bound - 1) else { return nil }
    return first
  }

  func giveUp(_ name: RowKey) {
    if stuck.count >= Self.mostMoves { stuck = [] }
    stuck.insert(name)
  }

  /// The server has committed these moves.
  func note(_ done: [Move]) {
    if moves.count > Self.mostMoves { moves = [:] }
    if following.count > Self.mostMoves { following = [:] }
    for (number, some) in Dictionary(grouping: done, by: \.link.number) {
      let isAgain = some.contains { $0.first != $0.former }
      let known = rooms[number].flatMap { .now - $0.last < Self.roomTime ? $0.width : nil } ?? 1
      rooms[number] = Room(width: isAgain ? min(known * 4, Self.widest) : known)
    }
    // Who is late follows to where the row is by now.
    let onward = Dictionary(done.map { ($0.name, $0.next) }) { first, _ in first }
    moves = moves.mapValues { move in
      var move = move
      move.next = onward[move.nextName] ?? move.next
      return move
    }
    for move in done {
      moves[move.name] = move
      following[move.nextName] = max(
        move.count, following.removeValue(forKey: move.name) ?? 0)
    }
    guard let newest = done.map(\.at).max() else { return }
    moves = moves.filter { newest - $0.value.at < Self.longestMemory }
  }

  /// How many rows have followed one to its number, as far as this session knows.
  func followers(of name: RowKey) -> Int { following[name] ?? 0 }
}
