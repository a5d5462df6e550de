import Flotilla
import FoundationEssentials
import Glibc
import SQLite

/// Every row of a table on both sides, compared by key. What the server has is noted in a file of
/// its own meanwhile, 16 bytes a row beside its key: memory stays flat.
///
/// Nothing is changed here: what differs is looked at again, and settled, when both sides are
/// still.
final class Comparison {
  /// What a row's place in the file says.
  enum Finding: Int64 {
    case alike = 1
    /// The server has it, the replica does not.
    case serverOnly = 0
    case differs = 2
    case siteOnly = 3
    /// They differ in columns that are new to the mirror, and of those one side alone has a value.
    case areOne = 4
  }

  let link: TableLink
  private let new: NewColumns?
  private let scratch: Connection
  private let path: String
  private(set) var serverRows = 0
  private(set) var siteRows = 0
  /// Rows of the server whose key no row of the replica can have.
  private(set) var misfits: [(key: String, reason: String)] = []
  /// Up to which key those of a kind are settled, and all of the kinds before it.
  private var settled: (finding: Finding, last: [UInt8])?

  init(_ link: TableLink, _ new: NewColumns? = nil, folder: String) throws(SQLiteError) {
    (self.link, self.new) = (link, new)
    path = "\(folder)/mirror-compare-\(link.number).db"
    unlink(path)
    // Nobody else reads what is in the rows' keys.
    let file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0o600)
    if file >= 0 { close(file) }
    scratch = try Connection(path: path, mode: .create)
    try scratch.execute(
      """
      PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -8000;
      CREATE TABLE found(key BLOB PRIMARY KEY, print TEXT, state INTEGER NOT NULL, note TEXT)
        WITHOUT ROWID;
      """)
  }

  deinit { unlink(path) }

  /// Who notes what the server has, in the same file.
  var rows: ServerRows { ServerRows(link: link, new: new, path: path) }

  /// What that has come to.
  func take(_ found: ServerRows.Found) { (serverRows, misfits) = (found.count, found.misfits) }

  /// Compares the next rows of the replica; nil after the last.
  func compare(_ rows: [[Value]]) throws(SQLiteError) -> [Value]? {
    try scratch.transaction(.deferred) { () throws(SQLiteError) in
      for row in rows {
        siteRows += 1
        let key = link.key(of: row)
        let name: [Value] = [.blob(RowKey.bytes(of: key))]
        let known = try scratch.row("SELECT print, note FROM found WHERE key = ?", name)
        guard let known else {
          try scratch.run("INSERT INTO found VALUES (?, NULL, 3, NULL)", name)
          continue
        }
        let isAlike = known[0].string == RowKey.fingerprint(row)
        let areOne = known[1].string.flatMap { new?.areOne(row, $0) } ?? false
        let finding: Finding = isAlike ? .alike : areOne ? .areOne : .differs
        try scratch.run(
          "UPDATE found SET state = ?2 WHERE key = ?1", name + [.integer(finding.rawValue)])
      }
    }
    return rows.last.map { link.key(of: $0) }
  }

  /// Keys of rows of a kind, after another one.
  func keys(
    _ finding: Finding, after last: [Value]?, limit: Int
  ) throws(SQLiteError) -> [[Value]] {
    let rows = try scratch.rows(
      "SELECT key FROM found WHERE state = ? AND key > ? ORDER BY key LIMIT \(limit)",
      [.integer(finding.rawValue), .blob(last.map { RowKey.bytes(of: $0) } ?? [])])
    return rows.compactMap { StoredKey.decode($0[0].blob ?? []) }
  }

  /// In this order they are settled.
  static let order: [Finding] = [.siteOnly, .areOne, .differs, .serverOnly]

  /// Those up to a key are settled from now on.
  func settle(_ finding: Finding, upTo last: [Value]?) {
    settled = (finding, last.map { RowKey.bytes(of: $0) } ?? [])
  }

  /// Whether the server has, or had, a row that is not known to be the same here, and not settled.
  func isOpen(_ row: RowKey) throws(SQLiteError) -> Bool {
    let state = try scratch.scalar("SELECT state FROM found WHERE key = ?", [.blob(row.bytes)])
    guard let finding = state.integer.flatMap(Finding.init), finding != .alike,
      let place = Self.order.firstIndex(of: finding)
    else { return false }
    guard let settled, let end = Self.order.firstIndex(of: settled.finding) else { return true }
    if place != end { return place > end }
    return settled.last.lexicographicallyPrecedes(row.bytes)
  }

  func count(_ finding: Finding) throws(SQLiteError) -> Int {
    let count = try scratch.scalar(
      "SELECT count(*) FROM found WHERE state = ?", [.integer(finding.rawValue)])
    return Int(count.integer ?? 0)
  }
}

/// Keys in the file of a comparison, as `RowKey` writes them.
enum StoredKey {
  /// Nil if the bytes are no key.
  static func decode(_ bytes: [UInt8]) -> [Value]? {
    var rest = bytes[...]
    func word() -> UInt64? {
      guard rest.count >= 8 else { return nil }
      defer { rest = rest.dropFirst(8) }
      return rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
    func run() -> [UInt8]? {
      guard let count = word(), count <= rest.count else { return nil }
      defer { rest = rest.dropFirst(Int(count)) }
      return Array(rest.prefix(Int(count)))
    }
    var values: [Value] = []
    while let tag = rest.popFirst() {
      switch tag {
      case 0: values.append(.null)
      case 1:
        guard let number = word() else { return nil }
        values.append(.integer(Int64(bitPattern: number)))
      case 2:
        guard let number = word() else { return nil }
        values.append(.real(Double(bitPattern: number)))
      case 3, 4:
        guard let part = run() else { return nil }
        values.append(tag == 3 ? .text(part) : .blob(part))
      default: return nil
      }
    }
    return values
  }
}

/// What ended a step of the mirror.
enum MirrorError: Error {
  case server(ServerError)
  case site(SQLiteError)
  case node(FlotillaError)
  /// The mirror is not to go on as it is, and why.
  case stopped(String)
  /// Look at everything again, and why.
  case again(String)
}
