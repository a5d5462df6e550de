/// What a client would like (RFC 7240): the header `Prefer`.
struct Preferences: Equatable {
  /// Whether the rows come back as they are after a write.
  var returnsRows = false
  /// So many seconds the client waits for the verdict of the anchor.
  var wait: Int?
  /// A write with a filter may touch so many rows.
  var mostRows: Int?
  /// Whether it is told who has edited the row last.
  var tellsEdit = false

  static let longestWait = 60

  init(_ header: String? = nil) throws(Problem) {
    guard let header else { return }
    var unknown: [String] = []
    var isStrict = false
    for part in header.split(separator: ",") {
      // What stands behind a semicolon says more about the wish; nothing here needs it.
      let wish = part.split(separator: ";").first ?? ""
      let words = wish.split(separator: "=", maxSplits: 1)
        .map { $0.filter { $0 != " " && $0 != "\t" && $0 != "\"" } }
      switch (words.first?.lowercased(), words.count == 2 ? words[1] : nil) {
      case ("return", "representation"): returnsRows = true
      case ("return", "minimal"): returnsRows = false
      case ("wait", let text?): wait = try Self.number(text, "wait", Self.longestWait)
      case ("max-affected", let text?):
        mostRows = try Self.number(text, "max-affected", 1_000_000_000)
      case ("last-edit", nil): tellsEdit = true
      case ("handling", "strict"): isStrict = true
      case ("handling", "lenient"): isStrict = false
      default: unknown.append(String(part))
      }
    }
    if isStrict, let one = unknown.first {
      throw .badRequest("preference", "the preference \(one) is unknown here")
    }
  }

  private static func number(
    _ text: String, _ name: String, _ most: Int
  ) throws(Problem) -> Int {
    guard let number = Int(text), number >= 0 else {
      throw .badRequest("preference", "the preference \(name) takes a number")
    }
    return min(number, most)
  }
}
