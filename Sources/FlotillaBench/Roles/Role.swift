/// What this program does in a process of its own while another one measures.
enum Role: String {
  /// Commits numbered rows at a distance, and tells when.
  case write
  /// Inserts many rows in transactions of equal size.
  case insert
  /// Writes beside a node that catches up, and looks how long it is kept waiting.
  case share
  /// Stands at the door of a node and does not come in.
  case crowd

  func run(_ arguments: [String]) throws {
    switch self {
    case .write: try WriteRole(arguments).run()
    case .insert: try InsertRole(arguments).run()
    case .share: try ShareRole(arguments).run()
    case .crowd: try CrowdRole(arguments).run()
    }
  }
}

/// The words after the name of a role.
struct RoleArguments {
  let words: [String]

  init(_ words: [String], count: Int) throws {
    guard words.count == count else { throw BenchError("a role with wrong arguments") }
    self.words = words
  }

  func integer(_ index: Int) throws -> Int {
    guard let value = Int(words[index]) else {
      throw BenchError("\(words[index]) is not a number")
    }
    return value
  }
}
