import CLinux
import FoundationEssentials
import Glibc
import SQLite
import Store

/// What must hold before a replica is opened, each failure with its remedy.
struct OpeningCheck {
  let path: String
  let sidecar: Sidecar

  /// The real path of a replica whose folder is beside it.
  func check() throws(FlotillaError) -> String {
    try refuseUnseen()
    if FileIdentity(path: path) == FileIdentity(path: "") { try refuseOrphan() }
    WriteAccess.follow(sidecar.database)
    let connection = try open()
    let meta: (node: String?, path: String?)?
    do {
      meta = try read(connection)
    } catch {
      throw FlotillaError(error, path: path)
    }
    guard let meta else {
      try refuseOrphan()
      throw FlotillaError(
        .notInitialised, "\(path) is not a replica yet",
        remedy:
          "flotilla init \(shellWord(path)) makes a new site; flotilla join \(shellWord(path)) "
          + "CODE joins one."
      )
    }
    try checkAccess()
    guard sidecar.exists else {
      try refuseOtherName(of: meta.path)
      try refuseCopy(of: meta.path, node: meta.node)
      throw moved(from: meta.path, node: meta.node)
    }
    try KeyFolder(sidecar).checkModes()
    guard try sidecar.record().node == meta.node else {
      throw FlotillaError(
        .movedWithoutFolder, "\(sidecar.folder) belongs to another copy of this database",
        remedy: "Put the right folder beside \(sidecar.database), or start over with: "
          + "flotilla leave \(shellWord(path)) --force")
    }
    try refuseCopy(of: meta.path, node: meta.node)
    return sidecar.database
  }

  /// Refuses to work on a file that was put in the place of a replica: in the folder beside it are
  /// the keys of that node, and perhaps the only one of its site.
  func refuseOrphan() throws(FlotillaError) {
    // A set-up that was broken off has left no ledger.
    guard access(sidecar.ledgerPath, F_OK) == 0 else { return }
    let isThere = FileIdentity(path: path) != FileIdentity(path: "")
    let folder = sidecar.folder
    throw FlotillaError(
      .movedWithoutFolder,
      "\(folder) is the folder of a node, with its keys, but "
        + (isThere ? "the file \(path) has no Flotilla in it" : "there is no file \(path)"),
      remedy: "Put the database of that node back, or a copy made since it belongs to the site. If "
        + "you give that node up: mv \(shellWord(folder)) \(shellWord(folder + ".old")), and keep "
        + "that: its keys may have the only key of the site. To go on as a new node: flotilla join "
        + "\(shellWord(path)) CODE, with a code of another machine (flotilla invite DB), and drop "
        + "the old one there: flotilla forget DB NODE.")
  }

  /// Refuses what is no file: SQLite would only say that the disk has an error.
  func checkKind() throws(FlotillaError) {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { return }
    let kind = status.st_mode & S_IFMT == S_IFDIR ? "a folder" : "no regular file"
    throw FlotillaError(
      .notADatabase, "\(path) is \(kind)", remedy: "Give the path of an SQLite database file.")
  }

  /// Refuses a file that cannot be made, because there is nothing to make it in.
  func checkFolder() throws(FlotillaError) {
    try refuseUnseen()
    let folder = Sidecar.folder(of: sidecar.database)
    guard access(folder, F_OK) != 0 else { return }
    throw FlotillaError(
      .notADatabase, "there is no folder \(folder): \(String(cString: strerror(errno)))",
      remedy: "Make it first: mkdir -p \(shellWord(folder))")
  }

  /// The folder of another user looks as if it were not there.
  private func checkAccess() throws(FlotillaError) {
    guard access(sidecar.folder, F_OK) == 0, access(sidecar.folder, R_OK | X_OK) != 0 else {
      return
    }
    var status = stat()
    guard stat(sidecar.folder, &status) == 0, status.st_uid != getuid() else {
      throw FlotillaError(
        .readOnly, "\(sidecar.folder) cannot be looked into, though it is yours",
        remedy: "Let its owner in again: chmod 700 \(shellWord(sidecar.folder))")
    }
    let (owner, caller) = (Self.name(of: status.st_uid), Self.name(of: getuid()))
    throw FlotillaError(
      .readOnly, "\(sidecar.folder) belongs to \(owner), and you are \(caller)",
      remedy: "Run this as \(owner): sudo -u \(shellWord(owner)) flotilla …")
  }

  static func name(of user: uid_t) -> String {
    getpwuid(user).map { String(cString: $0.pointee.pw_name) } ?? "user \(user)"
  }

  /// Two copies that write as one node would give the same numbers to different edits.
  private func refuseCopy(of old: String?, node: String?) throws(FlotillaError) {
    guard let old, old != sidecar.database else { return }
    let other = FileIdentity(path: old)
    guard other != FileIdentity(path: ""), other != FileIdentity(path: sidecar.database),
      let record = try? Sidecar(database: old).record(), record.node == node
    else { return }
    throw FlotillaError(
      .movedWithoutFolder, "\(path) is a copy of \(old), and both would be the same node",
      remedy:
        "A backup is not opened by Flotilla: read it with sqlite3. To make this one a node of "
        + "its own: flotilla leave \(shellWord(path)) --force, then join again.")
  }

  /// Opens the file to look at it; nothing is changed.
  func open() throws(FlotillaError) -> Connection {
    try refuseUnseen()
    guard FileIdentity(path: path) != FileIdentity(path: "") else {
      throw FlotillaError(
        .notADatabase, "there is no file \(path)",
        remedy: "Check the name; flotilla init \(shellWord(path)) makes a new database.")
    }
    try checkKind()
    do {
      let connection = try Connection(path: sidecar.database)
      connection.setBusyTimeout(milliseconds: 5_000)
      _ = try connection.scalar("SELECT count(*) FROM main.sqlite_schema")
      return connection
    } catch {
      throw FlotillaError(error, path: path)
    }
  }

  /// The node and the last path of a replica; nil if the file is none.
  func read(_ connection: Connection) throws(SQLiteError) -> (node: String?, path: String?)? {
    guard try ReplicaFile.isInitialised(connection) else { return nil }
    let sql = "SELECT value FROM _flotilla_meta WHERE name = ?"
    return (
      try connection.scalar(sql, [.string("node")]).string,
      try connection.scalar(sql, [.string("path")]).string
    )
  }

  private func moved(from old: String?, node: String?) -> FlotillaError {
    let before = old ?? "another place"
    let anew = "flotilla leave \(shellWord(path)) --force"
    let found = folder(of: node, lastBeside: old)
    guard let old, old != sidecar.database || found != nil else {
      return FlotillaError(
        .movedWithoutFolder, "the folder \(sidecar.folder) is missing",
        remedy: "Put it back beside the database, or start over with: " + anew)
    }
    return FlotillaError(
      .movedWithoutFolder,
      "this database was set up at \(before), and its folder is not beside it at "
        + sidecar.database,
      remedy: found.map {
        "mv \(shellWord($0)) \(shellWord(sidecar.folder))   (for a copy: \(anew), then join again)"
      } ?? "Find the folder, which is not at \(old)-flotilla any more, and move it to "
        + "\(sidecar.folder). If it is lost, or this is a copy: \(anew), then join again")
  }

  /// The folder of this very node: where the file was when its node ran last, or under another name
  /// beside the file.
  private func folder(of node: String?, lastBeside old: String?) -> String? {
    let ending = "-flotilla"
    let place = Sidecar.folder(of: sidecar.database)
    let beside = (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? []
    let databases =
      (old.map { [$0] } ?? [])
      + beside.filter { $0.hasSuffix(ending) }.sorted().map {
        (place == "/" ? "" : place) + "/" + $0.dropLast(ending.count)
      }
    return databases.first { (try? Sidecar(database: $0).record())?.node == node }
      .map { $0 + ending }
  }
}
