/// The names of the columns of one table, as far as they can travel together.
///
/// They are gathered one by one: of a table that is to be tracked, of a batch that came, of values
/// that are kept for columns which are not here.
package struct ShapeNames {
  /// Why a column cannot travel beside those before it.
  package enum Flaw: Equatable {
    case tooMany
    /// The name, or all of them together.
    case tooLong
    /// For SQLite two spellings of one letter are two names; what compares characters, as this
    /// program does, holds them for one.
    case alike(String)
  }

  private var count = 0
  private var bytes = 0
  /// By each way in which they are compared.
  private var spellings: [String: String] = [:]

  package init(_ columns: [String] = []) {
    for column in columns { _ = take(column) }
  }

  /// Takes one more, or tells why not.
  package mutating func take(_ column: String) -> Flaw? {
    let size = column.utf8.count
    guard count < Limits.columns else { return .tooMany }
    guard size <= Limits.name, bytes + size <= Limits.namesBytes else { return .tooLong }
    let own = Self.spellings(of: column)
    for spelling in own {
      if let other = spellings[spelling] { return .alike(other) }
    }
    for spelling in own { spellings[spelling] = column }
    count += 1
    bytes += size
    return nil
  }

  /// Whether more can travel beside the columns of a table, as far as can be told without comparing
  /// names: nearly always so.
  package static func hasRoom(
    for others: some Sequence<String>, beside columns: [String]
  ) -> Bool {
    var (count, bytes) = (0, 0)
    func take(_ name: String) -> Bool {
      count += 1
      bytes += name.utf8.count
      return name.utf8.allSatisfy { $0 < 0x80 }
    }
    return columns.allSatisfy(take) && others.allSatisfy(take) && count <= Limits.columns
      && bytes <= Limits.namesBytes
  }

  /// A name as it is, and in small letters.
  package static func spellings(of name: String) -> Set<String> {
    [name, String(decoding: KeyCollation.nocase.canonical(Array(name.utf8)), as: UTF8.self)]
  }
}
