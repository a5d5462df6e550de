import Flotilla

/// The tables of a mirror, under the names that they have here by now.
struct MirroredTables {
  private(set) var all: [MirrorSettings.Table]
  /// Those that have another name on the server, and have taken their triggers along: they wait for
  /// a word, and all changes of them are noted further on.
  var moved: Set<Int> = []

  init(_ tables: [MirrorSettings.Table]) { all = tables }

  /// How the site called each first, of those whose settings do not say so.
  mutating func recall(_ firsts: [Int: String]) {
    for place in all.indices where all[place].first == nil {
      all[place].first = firsts[all[place].number]
    }
  }

  /// A table that the site has renamed is the same one.
  mutating func follow(_ names: [Replica.TableName]) {
    for place in all.indices {
      let one = all[place]
      let found = names.first { name in
        one.first.map { isSameName($0, name.first) } ?? isSameName(one.table, name.here)
      }
      guard let found else { continue }
      (all[place].first, all[place].table) = (found.first, found.here)
    }
  }

  var names: [Int: String] {
    Dictionary(all.map { ($0.number, $0.table) }, uniquingKeysWith: { first, _ in first })
  }

  var firsts: [Int: String] {
    Dictionary(
      all.compactMap { one in one.first.map { (one.number, $0) } },
      uniquingKeysWith: { first, _ in first })
  }

  private func isSameName(_ one: String, _ other: String) -> Bool {
    one.lowercased() == other.lowercased()
  }
}

extension MirrorEngine {
  /// Looks what the tables are called by now. Who was just renamed is replicated under its new name
  /// when the node has looked at it, so the node is asked to.
  func followNames(_ site: SiteFile) async throws(MirrorError) {
    do throws(FlotillaError) {
      let names = try await replica.tableNames()
      let before = tables.names
      tables.follow(names)
      if before != tables.names { _ = try await replica.schema() }
    } catch {
      throw .node(error)
    }
    (state.names, state.firsts) = (tables.names, tables.firsts)
  }
}
