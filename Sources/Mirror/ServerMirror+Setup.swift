import Flotilla
import FoundationEssentials
import SQLite

/// A mirror is set up, and taken down.
extension ServerMirror {
  /// What `add` would make of both schemas; nothing is touched.
  public func plan(_ wish: MirrorWish, takes: Bool = false) async throws(FlotillaError)
    -> MirrorPlan
  {
    let bench = try await workbench(wish)
    let holder = try folder.settings()?.holder
    // Where another node has taken the mirror over this one may take it back.
    let isLost = if takes, holder != nil { try await bench.holder() != holder } else { false }
    if !isLost { try requireNone() }
    try await bench.requireFree(
      holder: holder, site: try await replica.siteMark(), takes: takes)
    return try await bench.plan(wish, try await replica.ownStanding())
  }

  /// Whether there are settings of a mirror.
  public var isSetUp: Bool { folder.mark != nil }

  /// An error if there are.
  public func requireNone() throws(FlotillaError) {
    guard try folder.settings() != nil else { return }
    let path = shellWord(replica.path)
    throw FlotillaError(
      .refused, "\(replica.path) has a mirror already",
      remedy: "More tables: flotilla mirror \(path) add --tables TABLE,…, without a URL. "
        + "For another server remove it first.")
  }

  func workbench(_ settings: MirrorSettings) throws(FlotillaError) -> MirrorWorkbench {
    MirrorWorkbench(
      replica, try ServerAddress(settings.url), password: try folder.password(settings))
  }

  private func workbench(_ wish: MirrorWish) async throws(FlotillaError) -> MirrorWorkbench {
    let address = try ServerAddress(wish.url)
    let password: String
    switch wish.password {
    case .typed(let text): password = text
    case .file(let path): password = try MirrorFolder.password(in: path)
    }
    return MirrorWorkbench(replica, address, password: password)
  }

  /// Does what a plan says; the node that runs, or the next that does, begins with it.
  public func carryOut(
    _ plan: MirrorPlan, _ wish: MirrorWish
  ) async throws(FlotillaError) -> MirrorReport {
    guard plan.isPossible else {
      throw FlotillaError(.table, "not every table can be mirrored", remedy: nil)
    }
    let bench = try await workbench(wish)
    if let former = try folder.settings()?.holder { try forget(former) }
    let holder = Replica.fingerprint((0..<16).map { _ in UInt8.random(in: 0...255) })
    var tables = MirroredTables(
      try await bench.carryOut(
        plan, holder: holder, node: try await replica.nodeName(),
        site: try await replica.siteMark()))
    tables.follow(try await replica.tableNames())
    var settings = MirrorSettings(
      holder: holder, url: wish.url, passwordFile: nil, tables: tables.all)
    switch wish.password {
    case .typed(let text): try folder.keep(password: text)
    case .file(let path): settings.passwordFile = URL(fileURLWithPath: path).path
    }
    try folder.write(settings)
    return try await report()
  }

  /// Ends the mirror. The rows of both sides stay; triggers and notes go from the server. They stay
  /// if it is not in reach and `force` allows that. They stay, too, if another node has taken the
  /// mirror over: then gives its name.
  @discardableResult
  public func remove(force: Bool) async throws(FlotillaError) -> String? {
    var other: String?
    let settings = try folder.required()
    // First it rests: what runs must not make anew what is taken out.
    try await pause()
    do throws(FlotillaError) {
      other = try await workbench(settings).remove(settings)
    } catch {
      guard force else {
        throw FlotillaError(
          error.code, "\(error.message); nothing was removed, and the mirror is paused",
          remedy: "--force leaves on the server what is there.")
      }
    }
    try forget(settings.holder)
    try folder.remove()
    return other
  }

  /// Takes out of the file what a mirror has noted there.
  private func forget(_ holder: String) throws(FlotillaError) {
    do throws(SQLiteError) {
      try SiteFile(replica).forget(holder)
    } catch {
      throw FlotillaError(.sql, "\(replica.path): \(error.message)")
    }
  }
}
