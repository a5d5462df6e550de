/// A condition on the row that is there: `If-Match` or `If-None-Match` (RFC 9110, 13.1).
enum TagCondition: Equatable {
  /// One tag, with its quotes. A weak one says that two contents are as good as the same.
  struct Tag: Equatable {
    var text: String
    var isWeak = false
  }

  /// How two tags are compared (RFC 9110, 8.8.3.2).
  enum Comparison {
    /// For `If-Match`: "two entity tags are equivalent if both are not weak and their opaque-tags
    /// match character-by-character".
    case strong
    /// For `If-None-Match`: whether one of them or both are weak does not count.
    case weak
  }

  /// `*`: any row at all.
  case any
  case tags([Tag])

  init?(_ header: String?) throws(Problem) {
    guard let header else { return nil }
    let text = header.trimmed
    self = text == "*" ? .any : .tags(try Self.tags(in: text))
  }

  /// A list of tags. A comma may stand within one: all but quotes and blanks may.
  private static func tags(in text: String) throws(Problem) -> [Tag] {
    var (tags, rest) = ([Tag](), Substring(text))
    while true {
      let isWeak = rest.hasPrefix("W/")
      if isWeak { rest = rest.dropFirst(2) }
      guard rest.first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") else {
        throw .badRequest("entity-tag", "an entity tag stands in double quotes")
      }
      tags.append(Tag(text: String(rest[...end]), isWeak: isWeak))
      rest = Substring(rest[end...].dropFirst().trimmed)
      if rest.isEmpty { return tags }
      guard rest.first == "," else {
        throw .badRequest("entity-tag", "between two entity tags stands a comma")
      }
      rest = Substring(rest.dropFirst().trimmed)
    }
  }

  /// Whether it holds of a row with this tag, which is strong; nil stands for no row.
  func matches(_ tag: String?, by comparison: Comparison) -> Bool {
    guard let tag else { return false }
    switch self {
    case .any: return true
    case .tags(let tags):
      return tags.contains { $0.text == tag && (comparison == .weak || !$0.isWeak) }
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
