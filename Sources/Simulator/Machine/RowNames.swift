import Replication

/// Numbers for the rows of all tables: the same row has the same number on every node.
final class RowNames {
  private struct Name: Hashable {
    var table: String
    var key: Key
  }

  private var numbers: [Name: RowNumber] = [:]
  private var names: [Name] = []

  func number(of key: Key, in table: String) -> RowNumber {
    let name = Name(table: table, key: key)
    if let number = numbers[name] { return number }
    numbers[name] = names.count
    names.append(name)
    return names.count - 1
  }

  /// The table of a row.
  func table(of number: RowNumber) -> String { names[number].table }

  /// What a person calls the row.
  func description(_ number: RowNumber) -> String {
    let values = names[number].key.values ?? []
    return "\(names[number].table)\(values)"
  }
}
