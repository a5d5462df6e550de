/// A table whose rows displace each other through a UNIQUE column.
enum Badges {
  static let name = "badge"
  static let columns = "(id INTEGER PRIMARY KEY, code INTEGER UNIQUE, note TEXT)"

  /// Of a node that writes rows and values of its own.
  static func statement(node: Int, _ random: inout Seeded) -> String {
    let (id, code) = (node * 10 + random.below(4), node * 10 + random.below(4))
    return switch random.below(4) {
    case 0: "UPDATE OR REPLACE badge SET code = \(code) WHERE id = \(id)"
    case 1: "DELETE FROM badge WHERE id = \(id)"
    default: "INSERT OR REPLACE INTO badge VALUES (\(id), \(code), 'n\(random.below(3))')"
    }
  }

  /// Frees the value of a row that is parked at this node, and gives it to a row that no other
  /// node writes, most often a new one: that could not see what is parked, and stays.
  static func swap(
    node: Int, beside parked: [(id: Int64, code: Int64?)], _ random: inout Seeded
  ) -> [String] {
    let codes = parked.compactMap(\.code)
    guard !codes.isEmpty else { return [] }
    let (code, id) = (random.pick(codes), node * 10 + 3 + random.below(7))
    return [
      "DELETE FROM badge WHERE code = \(code)",
      "INSERT OR IGNORE INTO badge VALUES (\(id), \(code), 's\(node).\(random.below(1_000_000))')",
    ]
  }

  /// Of a node that claims what others may have: rows of all nodes, and a few values for all. Each
  /// note is another one, so that it tells in the end what became of the edit.
  ///
  /// Now and then that is the key of a row that is parked at this node, and perhaps its value: two
  /// who write the same row do that, too.
  static func claim(
    node: Int, of count: Int, beside parked: [(id: Int64, code: Int64?)], _ random: inout Seeded
  ) -> [String] {
    var id = (random.chance(600) ? node : random.below(count)) * 10 + random.below(3)
    let other = random.below(count) * 10 + random.below(3)
    var code = random.chance(900) ? "\(900 + random.below(4))" : "NULL"
    if !parked.isEmpty, random.chance(400) {
      let hidden = random.pick(parked)
      id = Int(hidden.id)
      if let value = hidden.code, random.chance(500) { code = "\(value)" }
    }
    let note = "'n\(node).\(random.below(1_000_000))'"
    let row = "INTO badge VALUES (\(id), \(code), \(note))"
    let change = "badge SET code = \(code), note = \(note) WHERE id = \(id)"
    switch random.below(14) {
    case 0: return ["INSERT \(row)"]
    case 1: return ["INSERT OR IGNORE \(row)"]
    case 2: return ["INSERT \(row) ON CONFLICT(code) DO UPDATE SET note = excluded.note"]
    case 3: return ["UPDATE OR IGNORE \(change)"]
    case 4, 5: return ["UPDATE OR REPLACE \(change)"]
    case 6: return ["UPDATE badge SET note = \(note) WHERE code IS \(code)"]
    case 7: return ["UPDATE OR REPLACE badge SET id = \(id) WHERE id = \(other)"]
    case 8: return ["DELETE FROM badge WHERE id = \(id)"]
    // The value goes over to another row.
    case 9: return ["DELETE FROM badge WHERE code IS \(code)", "INSERT OR IGNORE \(row)"]
    default: return ["INSERT OR REPLACE \(row)"]
    }
  }
}
