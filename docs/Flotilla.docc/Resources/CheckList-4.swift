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

  /// Ticks off the open lines of this title; gives how many there were.
  func finish(_ title: String) async throws -> Int {
    let (count, _) = try await replica.transaction { transaction in
      let open = try transaction.rows(
        Item.self, "SELECT * FROM item WHERE title = ? AND NOT isDone", [.text(title)])
      for var item in open {
        item.isDone = true
        item.doneAt = .now
        try transaction.update(item, in: "item")
      }
      return open.count
    }
    return count
  }

  /// Prints the list now, and whenever somebody has changed it, on whatever machine.
  func watch() async throws {
    let query = "SELECT * FROM item ORDER BY isDone, title, id"
    for try await items in replica.observe(Item.self, query) {
      print(items.map { "\($0.isDone ? "x" : "_") \($0.title)" }.joined(separator: ", "))
    }
  }
}

func fill() async throws {
  let list = CheckList(replica: try await Replica.open("list.db"))
  try await list.add("ropes")
  try await list.watch()
  await list.replica.close()
}
