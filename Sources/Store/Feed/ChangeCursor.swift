/// Where a reader of the change log has come to: the number of an entry, and its mark.
///
/// A file that was put back, or a log that was begun anew, has another mark under that number, or
/// no entry. So a cursor of another history is noticed, whatever has happened to the file.
package struct ChangeCursor: Sendable, Equatable, CustomStringConvertible {
  package var number: Int64
  package var mark: Int64

  package init(number: Int64, mark: Int64) {
    (self.number, self.mark) = (number, mark)
  }

  /// Reads what `description` wrote; nil if it is none.
  package init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let number = Int64(parts[0]), number > 0,
      let mark = Int64(parts[1], radix: 16), mark > 0
    else { return nil }
    self.init(number: number, mark: mark)
    guard description == text else { return nil }
  }

  package var description: String { "\(number).\(String(mark, radix: 16))" }
}
