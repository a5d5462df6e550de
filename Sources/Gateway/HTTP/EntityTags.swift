/// A condition on the row that is there: `If-Match` or `If-None-Match` (RFC 9110, 13.1).
enum TagCondition: Equatable {
  /// `*`: any row at all.
  case any
  /// One of these, which are strong; a weak one never matches strongly.
  case tags([String])

  init?(_ header: String?) throws(Problem) {
    guard let header else { return nil }
    let text = header.trimmed
    if text == "*" {
      self = .any
      return
    }
    var tags: [String] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false).map(\.trimmed) {
      if part.hasPrefix("W/\"") { continue }
      guard part.utf8.count >= 2, part.hasPrefix("\""), part.hasSuffix("\"") else {
        throw .badRequest("entity-tag", "an entity tag stands in double quotes")
      }
      tags.append(part)
    }
    self = .tags(tags)
  }

  /// Whether it holds of a row with this tag; nil stands for no row.
  func matches(_ tag: String?) -> Bool {
    guard let tag else { return false }
    switch self {
    case .any: return true
    case .tags(let tags): return tags.contains(tag)
    }
  }
}

extension StringProtocol {
  /// Without blanks at both ends.
  var trimmed: String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    return String(self.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
  }
}
