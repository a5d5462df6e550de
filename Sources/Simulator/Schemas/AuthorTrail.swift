/// What the author of each edit meant: the values that it left in its row, and the rows to which
/// that one referred.
struct AuthorTrail {
  /// A foreign key by its last column and the table to which it leads.
  struct Reference: Hashable {
    let column: Int
    let parent: Int
  }

  /// A row as plain SQL shows it.
  struct Shown: Equatable {
    /// Empty if it shows none.
    var mark: String
    /// By the numbers of columns, which stay when those are renamed.
    var values: [Int: String]
    /// The mark of the row to which each reference to a whole number leads, empty for none.
    var parents: [Reference: String] = [:]
  }

  /// By mark. There are several where a trigger or a foreign key changes a row and not its mark.
  private var values: [String: [Int: Set<String>]] = [:]
  /// The same of the rows that were meant, by the mark that each had first.
  private var parents: [String: [Reference: Set<String>]] = [:]
  /// The mark that the row of a mark had first: all edits of one row have the same.
  private var births: [String: String] = [:]
  /// Rows that were deleted at a node since it looked last: who is put in there is the same row.
  private var gone: [Int: (looks: Int, rows: [EditTrail.Row: String])] = [:]

  /// A program has committed at a node that has looked so often.
  mutating func add(
    before: [EditTrail.Row: Shown], after: [EditTrail.Row: Shown], at node: Int, looks: Int
  ) {
    if gone[node]?.looks != looks { gone[node] = (looks, [:]) }
    for (row, old) in before where after[row] == nil { gone[node]?.rows[row] = old.mark }
    let changed = after.filter { before[$0.key] != $0.value && Self.isKnown($0.value.mark) }
    for (row, new) in changed where births[new.mark] == nil {
      let former = before[row]?.mark ?? gone[node]?.rows[row]
      births[new.mark] = former.map(birth) ?? new.mark
    }
    for (row, new) in changed { note(new, over: before[row]) }
  }

  /// A mark that a trigger made may be made twice.
  private static func isKnown(_ mark: String) -> Bool { !mark.isEmpty && !mark.hasSuffix(">") }

  private func birth(of mark: String) -> String { births[mark] ?? mark }

  private mutating func note(_ new: Shown, over old: Shown?) {
    let isEdit = old?.mark != new.mark
    for (column, value) in new.values {
      guard let old, old.values[column] == value else {
        values[new.mark, default: [:]][column, default: []].insert(value)
        continue
      }
      // What was not touched is as the authors before left it, whatever is shown meanwhile.
      guard isEdit, Self.isKnown(old.mark), let known = values[old.mark]?[column] else { continue }
      values[new.mark, default: [:]][column] = known.contains(value) ? [value] : known
    }
    // The author may lack columns that others have: their values go on.
    if let old, isEdit, Self.isKnown(old.mark) {
      let others = (values[old.mark] ?? [:]).filter { new.values[$0.key] == nil }
      values[new.mark, default: [:]].merge(others) { own, _ in own }
    }
    for (reference, parent) in new.parents where isEdit || old?.parents[reference] != parent {
      parents[new.mark, default: [:]][reference, default: []].insert(birth(of: parent))
    }
  }

  /// What is wrong in the end: values of these columns that nobody wrote in a row, and rows that
  /// refer to others than their authors meant.
  func faults(standing: [EditTrail.Row: Shown], columns: Set<Int>) -> [String] {
    var faults: [String] = []
    for (row, shown) in standing.sorted(by: { $0.key < $1.key }) where Self.isKnown(shown.mark) {
      for (column, meant) in (values[shown.mark] ?? [:]).sorted(by: { $0.key < $1.key })
      where columns.contains(column) {
        guard let value = shown.values[column], !meant.contains(value) else { continue }
        faults.append(
          "\(shown.mark) in \(row) has \(value) in column \(column), its author wrote"
            + " \(meant.sorted().joined(separator: " or "))")
      }
      for (reference, meant) in parents[shown.mark] ?? [:] {
        guard let parent = shown.parents[reference], parent.isEmpty || Self.isKnown(parent),
          meant.allSatisfy({ $0.isEmpty || Self.isKnown($0) }),
          !meant.contains(birth(of: parent))
        else { continue }
        faults.append(
          "\(shown.mark) in \(row) hangs under \(parent) by column \(reference.column), its author"
            + " meant \(meant.sorted().joined(separator: " or "))")
      }
    }
    return faults
  }
}

extension SchemaRun {
  /// The table of a number before the first migration and after each; nil where there is none.
  func stages(of table: Int) -> [ApplicationSchema.Table?] {
    ([first] + migrations.map(\.schema)).map { $0.tables.first { $0.number == table } }
  }

  /// Columns that no migration fills or declares otherwise: in the end each value is as it was
  /// written. Numbers that refer to rows follow these.
  var steadyColumns: Set<Int> {
    var steady: Set<Int> = []
    let filled = Set(migrations.compactMap(\.filled))
    for table in nodes[0].schema.tables {
      let stages = stages(of: table.number).compactMap(\.self)
      let references = stages.map { Set($0.foreignKeys.flatMap(\.columns)) }
      for column in table.free where !filled.contains(column.number) {
        // What leads nowhere is emptied where a foreign key comes.
        let referring = references.filter { $0.contains(column.number) }.count
        guard referring == 0 || referring == references.count else { continue }
        let same = stages.compactMap { $0.column(column.number) }
        let isSteady = same.allSatisfy {
          $0.declaration == column.declaration && $0.check == column.check
            && $0.values == column.values
        }
        let isNumber = column.type == "INTEGER" && referring > 0
        if isSteady, !isNumber { steady.insert(column.number) }
      }
    }
    return steady
  }
}

extension ApplicationSchema {
  /// Whether two rows of one key are two rows: the key is one whole number, and the table refers to
  /// another one or is referred to.
  func rekeys(_ table: Table) -> Bool {
    guard table.key.count == 1, table.column(table.key[0])?.type == "INTEGER" else { return false }
    return !table.foreignKeys.isEmpty
      || tables.contains { $0.foreignKeys.contains { $0.parent == table.number } }
  }

  /// The references of a table to the keys of such tables.
  func followed(_ table: Table) -> [(reference: AuthorTrail.Reference, parent: Table)] {
    table.foreignKeys.compactMap { key in
      guard let parent = tables.first(where: { $0.number == key.parent }), rekeys(parent),
        key.parentColumns.isEmpty || key.parentColumns == parent.key
      else { return nil }
      return (AuthorTrail.Reference(column: key.columns[0], parent: key.parent), parent)
    }
  }
}
