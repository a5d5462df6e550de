/// A JSON text that was read: numbers as they were written, members in their order.
///
/// Foundation's reader is not used: of two members of one name it takes either, without a word,
/// and a number may come out as another one.
enum JSONValue: Sendable, Equatable {
  case null
  case bool(Bool)
  case number(String)
  case text(String)
  case array([JSONValue])
  case object([JSONMember])
}

/// One member of a JSON object.
struct JSONMember: Sendable, Equatable {
  var name: String
  var value: JSONValue
}

/// Why a text is no JSON that is taken, and where.
struct JSONError: Error, Equatable {
  var message: String
  var offset: Int
}
