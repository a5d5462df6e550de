import Flotilla
import FlotillaRows
import Foundation

/// A line of the list, and a row of the table `item`.
struct Item: Codable, Equatable, Sendable {
  var id = UUID()
  var title: String
  var isDone = false
  var doneAt: Date?
}

struct CheckList {
  let replica: OpenReplica

  func add(_ title: String) async throws {
    _ = try await replica.save(Item(title: title), in: "item")
  }
}

func fill() async throws {
  let list = CheckList(replica: try await Replica.open("list.db"))
  try await list.add("ropes")
  await list.replica.close()
}
