import FoundationEssentials
import Glibc
import Network
import Replication
import SQLite
import Store

/// Becoming a replica.
extension Replica {
  /// Makes this file the first replica of a new site; creates the file if absent.
  public func initialise(
    site: String?, node: String?, tables: TableSelection, rule: String?,
    progress: (@Sendable (WorkProgress) -> Void)? = nil
  ) async throws(FlotillaError) -> InitReport {
    try Node.check(rule: rule)
    let name = try Self.checkedName(node ?? Self.machineName)
    let siteName = try Self.checkedName(site ?? Self.defaultSiteName(path))
    try refuseReplica()
    try checkTables(tables)
    let hadFolder = OwnFolder.isThere(sidecar.folder)
    let isNew = try prepare()
    let root = SigningKey()
    let keys = NodeKeys(site: root)
    let life = UInt64.random(in: 0 ... .max)
    let membership = Membership.founded(by: keys, root: root, name: name)
    let identities = ReplicaFile.Identities(
      site: membership.site, siteName: siteName, node: keys.identity, nodeName: name,
      origin: Origin.of(keys.identity, life: life, .openSSL), life: life, rootKey: root.publicKey,
      statements: membership.all)
    do {
      try create(identities, keys)
      let report = try await withNode(mode: .offline) { node async throws(FlotillaError) in
        try await node.track(tables, rule: rule, telling: progress)
      }
      return InitReport(
        site: siteName, node: name, tables: report.tables, rows: report.rows,
        warnings: (isNew ? [madeAnew] : []) + report.warnings,
        takes_new_tables: report.takes_new_tables)
    } catch {
      try takeBack(isNew: isNew, hadFolder: hadFolder, after: error)
      throw error
    }
  }

  /// A mistyped name makes a file that nobody wanted.
  private var madeAnew: String {
    let name = shellWord(path)
    return "there was no file \(path), so a new, empty database was made; if the name is wrong: "
      + "flotilla leave \(name), then rm \(name)"
  }

  /// Half a set-up helps nobody: everything that this call made is taken back.
  private func takeBack(
    isNew: Bool, hadFolder: Bool, after cause: FlotillaError
  ) throws(FlotillaError) {
    do {
      if try isNew || isReplica() { try ReplicaFile.remove(path: sidecar.database) }
    } catch {
      // On a full disk there may be no room even for that.
      if !isNew {
        throw FlotillaError(
          cause.code, "\(cause.message); the set-up is half done",
          remedy: "Make room, then: flotilla leave \(shellWord(path)) --force, and init again.")
      }
    }
    if hadFolder { sidecar.giveUp() } else { sidecar.remove() }
    if isNew { removeEmpty() }
  }

  /// Sees to it that the file can become a replica, and makes it if absent: then this is true.
  /// What cannot be written to, is locked or damaged is refused with the file as it was.
  func prepare() throws(FlotillaError) -> Bool {
    let check = OpeningCheck(path: path, sidecar: sidecar)
    let isNew = access(path, F_OK) != 0
    try isNew ? check.checkFolder() : check.checkKind()
    try HardLinks.refuse(sidecar, path: path)
    try check.refuseOrphan()
    let place = isNew ? Sidecar.folder(of: sidecar.database) : sidecar.database
    try FileSystem.refuseNetwork(path, FileSystem(at: place))
    if isNew { makeForOwner() }
    do {
      let connection = try Connection(path: sidecar.database, mode: .create)
      connection.setBusyTimeout(milliseconds: 5_000)
      try connection.transaction { () throws(SQLiteError) in
        guard !isNew, let damage = try QuickCheck(connection).damage else { return }
        throw SQLiteError.corrupt(damage)
      }
    } catch {
      if isNew { removeEmpty() }
      throw FlotillaError(error, path: path)
    }
    return isNew
  }

  /// Makes an empty file that its owner alone may read; a file that is there keeps its mode.
  ///
  /// The log and the index beside it follow: "SQLite will create these files with the same
  /// permissions as the database" (findCreateFileMode in os_unix.c of SQLite). Why it cannot be
  /// made is told by the connection that is opened next.
  private func makeForOwner() {
    let file = Glibc.open(sidecar.database, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if file >= 0 { Glibc.close(file) }
  }

  /// Takes away the file that `prepare` made, unless a program has put something into it since or
  /// is at work in it.
  ///
  /// A lock that is exclusive nobody gets beside a program that has the file open in WAL mode. One
  /// that has it open in another mode writes no more: SQLite looks "if the database file has been
  /// renamed, moved, or deleted" before it does (SQLITE_READONLY_DBMOVED, sqlite.org/rescode.html).
  func removeEmpty() {
    guard let connection = try? Connection(path: sidecar.database) else { return }
    do {
      try connection.execute("PRAGMA main.locking_mode = EXCLUSIVE")
      let isEmpty = try connection.transaction(.exclusive) { () throws(SQLiteError) in
        try connection.row("SELECT 1 FROM main.sqlite_schema LIMIT 1") == nil
      }
      guard isEmpty else { return }
      // The lock stays. The log goes while the name is still this file's.
      _ = try connection.rows("PRAGMA main.journal_mode = OFF")
      unlink(sidecar.database)
    } catch {
      // Whose file it is by now cannot be known, so it stays.
      return
    }
  }

  /// Makes the file a replica: Flotilla's tables and the site's `objects` in it, the folder beside
  /// it, and in the same commit the note that a first copy begins. Gives a remark for each object
  /// that cannot be made.
  @discardableResult
  func create(
    _ identities: ReplicaFile.Identities, _ keys: NodeKeys, creating objects: [SchemaObject] = [],
    copying: FirstCopy? = nil
  ) throws(FlotillaError) -> [String] {
    let database = sidecar.database
    let isMade = try sidecar.create(node: identities.node.description)
    do {
      try KeyFolder(sidecar).create(keys)
      let remarks = try reporting(path) { () throws(StoreError) in
        try ReplicaFile.initialise(
          path: database, as: identities, creating: objects, copying: copying)
      }
      PairingNote.forget(sidecar)
      return remarks
    } catch {
      if isMade { sidecar.remove() } else { sidecar.takeBack() }
      throw error
    }
  }

  /// A second `init` or `join` changes nothing: it prints the site and the node.
  func refuseReplica() throws(FlotillaError) {
    guard access(path, F_OK) == 0, try isReplica() else { return }
    // A copy is no node: what `run` would say of it helps more than the name of its original.
    _ = try OpeningCheck(path: path, sidecar: sidecar).check()
    let opened = try? Store(path: sidecar.database, inspects: false)
    let who = opened.map { ": node \($0.nodeName) of the site \"\($0.siteName)\"" } ?? ""
    throw FlotillaError(
      .alreadyInitialised, "\(path) is a replica already\(who)",
      remedy:
        "flotilla run \(shellWord(path)) --background starts its node; flotilla track "
        + "\(shellWord(path)) TABLE… chooses more tables; flotilla leave \(shellWord(path)) "
        + "takes Flotilla out of the file.")
  }

  /// Whether the file has Flotilla's tables; it must exist.
  func isReplica() throws(FlotillaError) -> Bool {
    let connection = try OpeningCheck(path: path, sidecar: sidecar).open()
    do {
      return try ReplicaFile.isInitialised(connection)
    } catch {
      throw FlotillaError(error, path: path)
    }
  }

  /// Refuses a table before the file is touched.
  private func checkTables(_ tables: TableSelection) throws(FlotillaError) {
    guard case .named(let names) = tables else { return }
    guard access(path, F_OK) == 0 else {
      throw FlotillaError(
        .table, "\(path) does not exist, so there is no table \(names.joined(separator: ", "))",
        remedy: "Create the tables first, or leave out --track.")
    }
    let connection = try OpeningCheck(path: path, sidecar: sidecar).open()
    for name in names {
      let verdict = try reporting(path) { () throws(StoreError) in
        try Trackability.check(table: name, on: connection)
      }
      if case .refused(let reason, let remedy) = verdict {
        throw FlotillaError(.table, reason, remedy: remedy)
      }
    }
  }

  static func checkedName(_ name: String) throws(FlotillaError) -> String {
    let name = name.trimmed { $0.isWhitespace && !$0.isNewline }
    guard isName(name) else {
      let shown = name.count > 40 ? name.prefix(40) + "…" : name[...]
      throw FlotillaError(
        .usage,
        "the name \"\(shown)\" must have 1 to 128 bytes, none of them in control characters or in "
          + "such that nobody sees, and no dash at its start",
        remedy: "It has \(name.utf8.count) bytes; give another one.")
    }
    return name
  }

  /// Whether people can read a name, tell it from others, and type it.
  static func isName(_ name: String) -> Bool {
    let isTrimmed = name.first?.isWhitespace == false && name.last?.isWhitespace == false
    return isTrimmed && name.utf8.count <= 128 && name.first != "-"
      && !name.unicodeScalars.contains {
        [.control, .format, .lineSeparator, .paragraphSeparator].contains(
          $0.properties.generalCategory) || $0.properties.isDefaultIgnorableCodePoint
      }
  }

  static var machineName: String {
    ProcessInfo.processInfo.hostName.split(separator: ".").first.map(String.init) ?? "node"
  }

  private static func defaultSiteName(_ path: String) -> String {
    var name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
    while name.utf8.count > 128 { name.removeLast() }
    // A file may be called as no site may.
    return isName(name) ? name : "site"
  }
}
