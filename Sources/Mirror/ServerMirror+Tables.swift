import Flotilla
import FoundationEssentials
import SQLite

/// Tables that a mirror which is set up is to have as well.
public struct MirrorAddition: Sendable {
  /// All that are not mirrored yet, if it is nil.
  public var tables: [String]?
  /// By the replica's table, `database.table` or the table alone.
  public var map: [String: String] = [:]
  public var creates = false

  public init() {}
}

/// Tables come to a mirror that is set up, and go. What runs takes the new settings over by itself.
extension ServerMirror {
  /// So long a node that runs may take to let go of tables.
  private static let patience = Duration.seconds(20)

  /// The tables of the settings, under their names of now.
  private func standing(
    _ settings: MirrorSettings, _ names: [Replica.TableName]
  ) -> MirroredTables {
    var tables = MirroredTables(settings.tables)
    tables.recall(folder.state()?.firsts ?? [:])
    tables.follow(names)
    return tables
  }

  /// What would be made of more tables; nothing is touched.
  public func plan(_ addition: MirrorAddition) async throws(FlotillaError) -> MirrorPlan {
    let settings = try folder.required()
    let names = try await replica.tableNames()
    let standing = standing(settings, names).all
    func mirrored(_ name: String) -> MirrorSettings.Table? {
      standing.first { $0.table.lowercased() == name.lowercased() }
    }
    let mapped = Set(addition.map.keys.map { $0.lowercased() })
    let rest = names.map(\.here).filter { mirrored($0) == nil || mapped.contains($0.lowercased()) }
    let wanted = addition.tables ?? rest.sorted()
    guard !wanted.isEmpty else {
      throw FlotillaError(
        .refused, "every table that the site replicates is mirrored already",
        remedy: "See: flotilla mirror \(shellWord(replica.path)) status")
    }
    let bench = try workbench(settings)
    try await bench.requireHolder(settings.holder)
    let kept = wanted.compactMap { mapped.contains($0.lowercased()) ? nil : mirrored($0) }
    // The password is known, and is not looked at here.
    var wish = MirrorWish(url: settings.url, password: .typed(""))
    wish.tables = wanted.filter { name in
      !kept.contains { $0.table.lowercased() == name.lowercased() }
    }
    (wish.map, wish.creates) = (addition.map, addition.creates)
    var plan = try await bench.plan(wish, try await replica.ownStanding())
    plan.compare(with: standing)
    plan.tables += kept.map {
      MirrorPlan.Table(
        table: $0.table, server_table: "\($0.schema).\($0.name)", action: "keep", reasons: [])
    }
    return plan
  }

  /// Does what such a plan says. A node that runs begins with it at once.
  public func carryOut(
    _ plan: MirrorPlan, _ addition: MirrorAddition
  ) async throws(FlotillaError) -> MirrorReport {
    guard plan.isPossible else {
      throw FlotillaError(.table, "not every table can be mirrored", remedy: nil)
    }
    let (site, names) = (try await replica.siteMark(), try await replica.tableNames())
    var settings = try folder.required()
    let bench = try workbench(settings)
    try await bench.requireHolder(settings.holder)
    let standing = standing(settings, names).all
    let more = try await bench.make(plan, beside: standing, settings, site: site)
    if !more.isEmpty {
      // Somebody may have paused it meanwhile.
      settings = try folder.required()
      let replaced = Set(
        more.compactMap { one in
          standing.first { $0.table.lowercased() == one.table.lowercased() }?.number
        })
      settings.lastNumber = (settings.tables + more).map(\.number).max()
        .map { max($0, settings.lastNumber ?? 0) }
      var tables = MirroredTables(settings.tables.filter { !replaced.contains($0.number) } + more)
      tables.follow(names)
      settings.tables = tables.all
      try folder.write(settings)
    }
    return try await report()
  }

  /// Takes single tables out of the mirror. Their rows stay on both sides; triggers, journals and
  /// notes go. If the server is not in reach and `force` allows that, they go when a node reaches
  /// it. Gives the tables.
  @discardableResult
  public func remove(
    tables names: [String], force: Bool
  ) async throws(FlotillaError) -> [String] {
    var settings = try folder.required()
    let site = try await replica.siteMark()
    let standing = standing(settings, try await replica.tableNames()).all
    let wanted = Set(names.map { $0.lowercased() })
    let gone = standing.filter { wanted.contains($0.table.lowercased()) }
    guard gone.count < settings.tables.count else {
      throw FlotillaError(
        .usage, "no table of the mirror would be left",
        remedy: "To end it: flotilla mirror \(shellWord(replica.path)) remove")
    }
    var numbers = Set(gone.map(\.number))
    let found = Set(gone.map { $0.table.lowercased() })
    do throws(FlotillaError) {
      let bench = try workbench(settings)
      try await bench.requireHolder(settings.holder)
      // Somebody may have begun with it before, and have been ended.
      let left = try await bench.leftOver(settings, site: site).filter {
        wanted.contains($0.table.lowercased())
      }
      try require(wanted, among: found.union(left.map { $0.table.lowercased() }))
      numbers.formUnion(left.map(\.number))
    } catch {
      guard force, error.code == .peer else { throw error }
      try require(wanted, among: found)
    }
    settings = try folder.required()
    settings.lastNumber = max(
      settings.lastNumber ?? 0, settings.tables.map(\.number).max() ?? 0)
    settings.tables.removeAll { numbers.contains($0.number) }
    try folder.write(settings)
    do throws(FlotillaError) {
      try await takeOut(numbers, settings, site: site)
    } catch {
      guard force, error.code == .peer else {
        throw FlotillaError(
          error.code, "\(error.message); what is on the server of these tables is still there",
          remedy: "They are mirrored no more. A node that runs takes it out as soon as it can, and "
            + "so does the same command again.")
      }
    }
    return names
  }

  private func require(
    _ wanted: Set<String>, among known: Set<String>
  ) throws(FlotillaError) {
    if let name = wanted.subtracting(known).sorted().first {
      throw FlotillaError(
        .table, "\(name) is not mirrored",
        remedy: "See: flotilla mirror \(shellWord(replica.path)) status --json")
    }
  }

  /// What runs does it; where nothing does it is done here.
  private func takeOut(
    _ numbers: Set<Int>, _ settings: MirrorSettings, site: String
  ) async throws(FlotillaError) {
    let bench = try workbench(settings)
    let deadline = ContinuousClock.now + Self.patience
    while true {
      let left = try await bench.leftOver(settings, site: site).map(\.number)
      if numbers.isDisjoint(with: left) { return }
      let isAtWork = folder.state().map { $0.isAlive && $0.phase != .stopped } ?? false
      guard !settings.isPaused, isAtWork, ContinuousClock.now < deadline,
        (try? await Task.sleep(for: .milliseconds(100))) != nil
      else { break }
    }
    try await bench.takeOut(numbers, settings, site: site)
  }
}

extension MirrorPlan {
  /// What the mirror has already: no two tables may be one on the server.
  mutating func compare(with standing: [MirrorSettings.Table]) {
    for place in tables.indices {
      let one = tables[place]
      let former = standing.first { $0.table.lowercased() == one.table.lowercased() }
      if let former, former.place == one.server_table {
        (tables[place].action, tables[place].reasons) = ("keep", [])
        tables[place].statement = nil
        continue
      }
      let rival =
        standing.first { $0.place == one.server_table && $0.number != former?.number }?.table
        ?? tables[..<place].first { $0.server_table == one.server_table }?.table
      if let rival {
        tables[place].action = "refuse"
        tables[place].reasons = ["\(one.server_table) is kept equal with \(rival)"]
      } else if let former, one.action != "refuse" {
        tables[place].reasons.append("until now it was \(former.place)")
      }
    }
  }
}

extension MirrorSettings.Table {
  /// As a plan calls it.
  var place: String { "\(schema).\(name)" }
}
