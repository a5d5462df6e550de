/// What went wrong, to which file, node or table, and what to do about it.
public struct FlotillaError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure; new kinds may be added, so match with a default.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }

    /// The file is missing, not an SQLite database, corrupt or encrypted.
    public static let notADatabase = Code("not-a-database")
    /// The file or its folder cannot be written.
    public static let readOnly = Code("read-only")
    /// The file has more than one name (hard links).
    public static let linked = Code("linked")
    /// Others can read what is secret.
    public static let permissions = Code("permissions")
    /// This node may not do that, or is no member any more.
    public static let notAllowed = Code("not-allowed")
    /// The disk is full.
    public static let diskFull = Code("disk-full")
    /// Another program kept the file locked for too long.
    public static let locked = Code("locked")
    /// The database is no replica yet: `init` or `join` comes first.
    public static let notInitialised = Code("not-initialised")
    /// The database is a replica already.
    public static let alreadyInitialised = Code("already-initialised")
    /// One of Flotilla's own tables in the file is missing or damaged.
    public static let damagedSetUp = Code("damaged-set-up")
    /// The folder beside the database is missing or belongs to another copy.
    public static let movedWithoutFolder = Code("moved-without-folder")
    /// A table cannot be tracked, or is not known.
    public static let table = Code("table")
    /// A node runs already, or none runs where one is needed.
    public static let node = Code("node")
    /// An invitation is mistyped, unknown, used or expired, or no site is in reach.
    public static let invitation = Code("invitation")
    /// A peer could not be reached or spoke something else.
    public static let peer = Code("peer")
    /// The site has no anchor, and one is needed.
    public static let noAnchor = Code("no-anchor")
    /// The statement failed in SQLite.
    public static let sql = Code("sql")
    /// The time was over before the thing was done.
    public static let timedOut = Code("timed-out")
    /// What was asked for makes no sense as it stands.
    public static let usage = Code("usage")
    /// What was asked for makes sense and cannot be done: there is no such thing, or it is done
    /// already.
    public static let refused = Code("refused")
    /// The file was made by a newer Flotilla.
    public static let newerFormat = Code("newer-format")
    /// Anything else: an error of the system, reported as it came.
    public static let system = Code("system")
  }

  public let code: Code
  /// One sentence: what happened, to which file, node or table.
  public let message: String
  /// One sentence: what to do, if there is something to do.
  public let remedy: String?
  /// The message without files and processes of this machine, for who is to know neither. The
  /// remedy is not for him then. Nil if the message names none.
  package let cause: String?

  public init(_ code: Code, _ message: String, remedy: String? = nil) {
    self.init(code, message, remedy: remedy, cause: nil)
  }

  package init(_ code: Code, _ message: String, remedy: String? = nil, cause: String?) {
    self.code = code
    self.message = message
    self.remedy = remedy
    self.cause = cause
  }

  public var description: String {
    guard let remedy else { return message }
    return "\(message)\n  \(remedy)"
  }
}
