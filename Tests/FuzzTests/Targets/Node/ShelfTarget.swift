@testable import Store

/// Reads an entry of the shelf and writes it again.
func readShelf(_ bytes: [UInt8]) {
  guard let entry = Shelf.decode(bytes, .table) else { return }
  let again = Shelf.decode(Shelf.encode(entry), .table)
  demand(again?.values.map(\.value) == entry.values.map(\.value), "\(entry)")
  demand(again?.values.map(\.name) == entry.values.map(\.name), "\(entry)")
}
