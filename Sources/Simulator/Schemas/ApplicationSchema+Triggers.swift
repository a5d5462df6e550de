/// Triggers as applications have them.
extension ApplicationSchema {
  /// A table that nobody replicates, filled by triggers: a cache.
  static let cache = "CREATE TABLE IF NOT EXISTS cache(what TEXT)"

  /// A trigger of a table that writes into this one, another one or the cache.
  @discardableResult
  mutating func addTrigger(to index: Int, _ random: inout Seeded) -> Trigger {
    let table = tables[index]
    let target = random.pick(tables)
    let event = random.pick(["INSERT", "UPDATE", "UPDATE OF {\(table.mark)}", "DELETE"])
    let row = event == "DELETE" ? "OLD" : "NEW"
    let body: String
    switch random.below(5) {
    case 0: body = "INSERT INTO cache VALUES (\(row).{\(table.mark)})"
    case 1:
      let key = target.key.compactMap { target.column($0)?.values[0] }.joined(separator: ", ")
      body =
        "INSERT OR IGNORE INTO \(target.name)(\(columns(target.key + [target.mark])))"
        + " VALUES (\(key), \(row).{\(table.mark)} || '>')"
    case 2:
      let column = random.pick(target.free)
      let value = random.pick(column.values)
      body =
        "UPDATE OR IGNORE \(target.name) SET {\(column.number)} = \(value)"
        + " WHERE \(equals(target, random.below(3)))"
    case 3: body = "DELETE FROM \(target.name) WHERE \(equals(target, 4))"
    default:
      let column = random.pick(table.free)
      let own = table.key.map { "{\($0)} = \(row).{\($0)}" }.joined(separator: " AND ")
      body =
        "UPDATE OR IGNORE \(table.name) SET {\(column.number)} = \(column.values[0]) WHERE \(own)"
    }
    let made = Trigger(
      name: "g\(nextNumber())", text: "AFTER \(event) ON \(table.name) BEGIN \(body); END")
    tables[index].triggers.append(made)
    return made
  }

  private func columns(_ numbers: [Int]) -> String {
    numbers.map { "{\($0)}" }.joined(separator: ", ")
  }

  /// A condition for the row of one of the keys that programs use.
  private func equals(_ table: Table, _ place: Int) -> String {
    table.key.compactMap { number in
      table.column(number).map { "{\(number)} = \($0.values[place % $0.values.count])" }
    }.joined(separator: " AND ")
  }
}
