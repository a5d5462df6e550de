import Flotilla

/// The columns whose values would be written back otherwise than they were read.
///
/// A Decimal reads '1.50' and writes '1.5'. In a price that is the same number; in a key it finds
/// no row, or another one.
final class ChangedValues {
  /// For how a column compares, those of which a value would be another one.
  private var columns: [KeyColumns.Comparison: Set<String>] = [:]

  var isEmpty: Bool { columns.isEmpty }

  /// Notes what a column held and what was made of it.
  func note<Value>(_ value: Value, read: SQLValue, in column: String) {
    // Those mostly are read as they are stored, and written so.
    if value is String || value is Int || value is Bool { return }
    guard let value = value as? any Encodable,
      let written = try? RowEncoder.column(value), written != read
    else { return }
    for comparison in [KeyColumns.Comparison.number, .text, .asIs]
    where !comparison.finds(read, with: written) {
      columns[comparison, default: []].insert(column)
    }
  }

  /// Throws if one of them is in a key: who writes the row back would write another one.
  func refuse<Row>(_ type: Row.Type, in keys: KeyColumns) throws(FlotillaError) {
    for (comparison, names) in columns {
      for name in names.sorted() where keys.comparisons(of: name).contains(comparison) {
        throw FlotillaError(
          .usage,
          "a row does not fit \(type): column \(name) is in the key, and what it holds would be "
            + "written back otherwise, as the key of another row",
          remedy: "Read that column as what it holds: a String, a number or an SQLValue.")
      }
    }
  }
}

extension KeyColumns.Comparison {
  /// Whether a value that is compared with a column finds another one in it.
  func finds(_ stored: SQLValue, with value: SQLValue) -> Bool {
    switch (self, stored, value) {
    case (_, .integer(let integer), .real(let real)), (_, .real(let real), .integer(let integer)):
      Int64(exactly: real) == integer
    case (.number, .integer(let number), .text(let text)) where Self.isNumber(text):
      Int64(text) == number || Double(text).flatMap(Int64.init(exactly:)) == number
    case (.number, .real(let number), .text(let text)) where Self.isNumber(text):
      Double(text) == number
    case (.text, .text(let text), .integer(let number)):
      text == String(number)
    default: stored == value
    }
  }
}
