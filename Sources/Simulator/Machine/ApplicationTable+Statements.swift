/// The random SQL of applications.
extension ApplicationTable {
  private func keyLiteral(_ index: Int, _ replica: Int, _ random: inout Seeded) -> String {
    let value = random.pick(key[index].values)
    guard hasRanges else { return value }
    // Rows of others may be edited or deleted, never inserted.
    return "\(value) + \(replica * 100)"
  }

  private func keyValues(_ replica: Int, _ random: inout Seeded) -> [String] {
    key.indices.map { keyLiteral($0, replica, &random) }
  }

  private func condition(_ replicas: Int, _ random: inout Seeded) -> String {
    let replica = random.below(replicas)
    return condition(keyValues(replica, &random))
  }

  private func condition(_ values: [String]) -> String {
    zip(key, values).map { "\($0.column) = \($1)" }.joined(separator: " AND ")
  }

  /// One random statement of an application at a replica.
  func statement(
    replica: Int, of replicas: Int, extra: [String], _ random: inout Seeded
  ) -> String {
    let others = columns + extra
    let assignments = others.filter { _ in random.chance(600) }
      .map { "\($0) = \(random.pick(Self.values))" }.joined(separator: ", ")
    let update = assignments.isEmpty ? nil : assignments
    switch random.below(12) {
    case 0...3: return insert("OR REPLACE", replica, others, &random)
    case 4: return insert("OR IGNORE", replica, others, &random)
    case 5:
      guard let update else { return insert("OR REPLACE", replica, others, &random) }
      return insert("", replica, others, &random) + " ON CONFLICT DO UPDATE SET " + update
    case 6, 7:
      guard let update else { return "DELETE FROM \(name) WHERE \(condition(replicas, &random))" }
      return "UPDATE OR IGNORE \(name) SET \(update) WHERE \(condition(replicas, &random))"
    case 8:
      guard let update else { return insert("OR IGNORE", replica, others, &random) }
      return "UPDATE OR IGNORE \(name) SET \(update)"
    case 9:
      let index = random.below(key.count)
      let value = keyLiteral(index, replica, &random)
      let resolution = random.pick(["OR REPLACE", "OR IGNORE"])
      let assignment = "\(key[index].column) = \(value)"
      return "UPDATE \(resolution) \(name) SET \(assignment) WHERE \(condition(replicas, &random))"
    case 10: return "DELETE FROM \(name) WHERE \(condition(replicas, &random))"
    default: return "DELETE FROM \(name) WHERE \(key[0].column) > \(random.pick(key[0].values))"
    }
  }

  /// Writes a row, if there is none, and deletes it: whoever looks afterwards sees neither.
  func passing(replica: Int, _ random: inout Seeded) -> [String] {
    let values = keyValues(replica, &random)
    let columns = key.map(\.column).joined(separator: ", ")
    return [
      "INSERT OR IGNORE INTO \(name)(\(columns)) VALUES (\(values.joined(separator: ", ")))",
      "DELETE FROM \(name) WHERE \(condition(values))",
    ]
  }

  private func insert(
    _ resolution: String, _ replica: Int, _ others: [String], _ random: inout Seeded
  ) -> String {
    let chosen = others.filter { _ in random.chance(800) }
    let names = (key.map(\.column) + chosen).joined(separator: ", ")
    var rows: [String] = []
    for _ in 0..<(random.chance(200) ? 3 : 1) {
      let values = keyValues(replica, &random) + chosen.map { _ in random.pick(Self.values) }
      rows.append("(" + values.joined(separator: ", ") + ")")
    }
    let into = resolution.isEmpty ? "INSERT INTO" : "INSERT \(resolution) INTO"
    // "WHERE true" in SELECT, or ON CONFLICT would be read as a join's ON; VALUES needs none.
    return "\(into) \(name)(\(names)) VALUES \(rows.joined(separator: ", "))"
  }
}
