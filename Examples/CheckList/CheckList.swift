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

/// A check-list that every machine of the site has (docs/library.md).
@main struct CheckList {
  let replica: OpenReplica

  /// The lines that are open come first.
  static let all = "SELECT * FROM item ORDER BY isDone, title, id"

  func add(_ title: String) async throws {
    _ = try await replica.save(Item(title: title), in: "item")
    print("added: \(title)")
  }

  func finish(_ title: String) async throws {
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
    print("done: \(count)")
  }

  /// Prints the list now, and whenever somebody has changed it, on whatever machine.
  func watch(until count: Int) async throws {
    for try await items in replica.observe(Item.self, Self.all) {
      say(items.map { "\($0.isDone ? "x" : "_") \($0.title)" }.joined(separator: ", "))
      if items.count(where: \.isDone) >= count { break }
    }
  }

  static func main() async {
    let words = Array(CommandLine.arguments.dropFirst())
    guard words.count >= 2 else { return usage() }
    do {
      var options = RunOptions()
      if let address = ProcessInfo.processInfo.environment["LISTEN"] { options.listen = address }
      if let peer = ProcessInfo.processInfo.environment["PEER"] { options.peers = [peer] }
      options.discovery = options.listen == nil
      let list = CheckList(replica: try await Replica.open(words[0], options: options))
      switch (words[1], words.dropFirst(2).first) {
      case ("add", let title?): try await list.add(title)
      case ("done", let title?): try await list.finish(title)
      case ("watch", let count): try await list.watch(until: count.flatMap { Int($0) } ?? .max)
      default: usage()
      }
      await list.replica.close()
    } catch {
      FileHandle.standardError.write(Data("checklist: \(error)\n".utf8))
      exit(1)
    }
  }

  /// At once, also into a pipe.
  private func say(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
  }

  private static func usage() {
    print("usage: checklist DB add TITLE | done TITLE | watch [UNTIL-SO-MANY-ARE-DONE]")
  }
}
