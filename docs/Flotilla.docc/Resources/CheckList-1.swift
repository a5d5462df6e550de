import Foundation

/// A line of the list, and a row of the table `item`.
struct Item: Codable, Equatable, Sendable {
  var id = UUID()
  var title: String
  var isDone = false
  var doneAt: Date?
}
