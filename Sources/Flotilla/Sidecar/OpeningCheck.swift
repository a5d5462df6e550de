import SQLite
import Store

/// What must hold before a replica is opened, each failure with its remedy.
struct OpeningCheck {
  let path: String
  let sidecar: Sidecar

  /// The real path of a replica whose folder is beside it.
  func check() throws(FlotillaError) -> String {
    let connection = try open()
    let meta: (node: String?, path: String?)?
    do {
      meta = try read(connection)
    } catch {
      throw FlotillaError(error, path: path)
    }
    guard let meta else {
      throw FlotillaError(
        .notInitialised, "\(path) is not a replica yet",
        remedy: "flotilla init \(path) makes a new site; flotilla join \(path) CODE joins one.")
    }
    guard sidecar.exists else { throw moved(from: meta.path) }
    guard try sidecar.record().node == meta.node else {
      throw FlotillaError(
        .movedWithoutFolder, "\(sidecar.folder) belongs to another copy of this database",
        remedy: "Put the right folder beside \(sidecar.database), or start over with: "
          + "flotilla leave \(path) --force")
    }
    return sidecar.database
  }

  /// Opens the file to look at it; nothing is changed.
  func open() throws(FlotillaError) -> Connection {
    guard FileIdentity(path: path) != FileIdentity(path: "") else {
      throw FlotillaError(
        .notADatabase, "there is no file \(path)",
        remedy: "Check the name; flotilla init \(path) makes a new database.")
    }
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
    guard try Store.isInitialised(connection) else { return nil }
    let sql = "SELECT value FROM _flotilla_meta WHERE name = ?"
    return (
      try connection.scalar(sql, [.string("node")]).string,
      try connection.scalar(sql, [.string("path")]).string
    )
  }

  private func moved(from old: String?) -> FlotillaError {
    let before = old ?? "another place"
    guard let old, old != sidecar.database else {
      return FlotillaError(
        .movedWithoutFolder, "the folder \(sidecar.folder) is missing",
        remedy: "Put it back beside the database, or start over with: "
          + "flotilla leave \(path) --force")
    }
    return FlotillaError(
      .movedWithoutFolder,
      "this database was set up at \(before), and its folder is not beside it at "
        + sidecar.database,
      remedy: "mv \(old)-flotilla \(sidecar.folder)   (for a copy: flotilla leave \(path) "
        + "--force, then join again)")
  }
}
