/// A foreign key between tracked tables that does not hold.
package struct BrokenReference: Sendable {
  package var table: String
  package var columns: [String]
  package var parent: String
  package var rows: Int
}
