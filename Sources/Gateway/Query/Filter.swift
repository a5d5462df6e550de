/// A condition on rows, as the query of a request says it.
indirect enum Filter: Sendable, Equatable {
  case compare(column: String, Comparison, String)
  case isIn(column: String, [String])
  /// `null`, or `not_null` as `isNot`.
  case isNull(column: String)
  case all([Filter])
  case any([Filter])
  case not(Filter)

  /// The operators with one value, and how SQL writes them.
  enum Comparison: String, Sendable, CaseIterable {
    case eq, neq, lt, lte, gt, gte, like

    var sql: String {
      switch self {
      case .eq: "="
      case .neq: "<>"
      case .lt: "<"
      case .lte: "<="
      case .gt: ">"
      case .gte: ">="
      case .like: "LIKE"
      }
    }
  }

  /// Conditions in all, conditions in one another, values of `in`, at most.
  static let mostTerms = 100
  static let deepest = 8
  static let mostValues = 1_000
  static let longestPattern = 100
  /// Conditions with `like`, which cost most, in a request.
  static let mostPatterns = 4

  /// How many conditions it has, and how many of them with `like`.
  var terms: (all: Int, patterns: Int) {
    switch self {
    case .compare(_, let comparison, _): (1, comparison == .like ? 1 : 0)
    case .isIn, .isNull: (1, 0)
    case .not(let one): one.terms
    case .all(let parts), .any(let parts):
      parts.reduce((0, 0)) { ($0.0 + $1.terms.all, $0.1 + $1.terms.patterns) }
    }
  }
}

/// Reads filters: `ward=eq.B`, `or=(ward.eq.B,and(age.gt.60,age.lt.70))`.
struct FilterReader {
  private let characters: [Unicode.Scalar]
  private var at = 0
  private var terms = 0

  private init(_ text: String) { characters = Array(text.unicodeScalars) }

  /// One parameter: the column is its name, and the value is all that stands behind the operator.
  static func read(column: String, _ text: String) throws(Problem) -> Filter {
    var reader = FilterReader(text)
    return try reader.condition(on: column, isAlone: true)
  }

  /// `or=(…)` or `and=(…)`.
  static func read(group name: String, _ text: String) throws(Problem) -> Filter {
    var reader = FilterReader(text)
    let filter = try reader.group(name, depth: 1)
    guard reader.at == reader.characters.count else {
      throw Self.error("something stands behind the last bracket of \(name)")
    }
    return filter
  }

  private static func error(_ text: String) -> Problem { .badRequest("filter", text) }

  private var next: Unicode.Scalar? { at < characters.count ? characters[at] : nil }

  private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard next == scalar else { return false }
    at += 1
    return true
  }

  private mutating func group(_ name: String, depth: Int) throws(Problem) -> Filter {
    guard depth <= Filter.deepest else { throw Self.error("conditions are too deep") }
    guard skip("(") else { throw Self.error("\(name) needs a bracket: \(name)=(a.eq.1,b.eq.2)") }
    var parts: [Filter] = []
    repeat { parts.append(try part(depth: depth)) } while skip(",")
    guard skip(")") else { throw Self.error("a bracket of \(name) is not closed") }
    return name == "or" ? .any(parts) : .all(parts)
  }

  private mutating func part(depth: Int) throws(Problem) -> Filter {
    let isQuoted = next == "\""
    let name = isQuoted ? try quoted() : word()
    if !isQuoted, next == "(", ["or", "and"].contains(name) {
      return try group(name, depth: depth + 1)
    }
    guard skip(".") else { throw Self.error("a condition is COLUMN.OPERATOR.VALUE") }
    if !isQuoted, name == "not" {
      let start = at
      let group = word()
      if next == "(", ["or", "and"].contains(group) {
        return .not(try self.group(group, depth: depth + 1))
      }
      at = start
    }
    return try condition(on: name, isAlone: false)
  }

  /// Letters up to the next full stop, comma or bracket.
  private mutating func word() -> String {
    var word = String.UnicodeScalarView()
    while let scalar = next, !".,()\"".unicodeScalars.contains(scalar) {
      word.append(scalar)
      at += 1
    }
    return String(word)
  }

  private mutating func condition(on column: String, isAlone: Bool) throws(Problem) -> Filter {
    terms += 1
    guard terms <= Filter.mostTerms else { throw Self.error("there are too many conditions") }
    let name = word()
    guard skip(".") else {
      throw Self.error("\(column) needs an operator and a value, as in \(column)=eq.1")
    }
    if name == "not" { return .not(try condition(on: column, isAlone: isAlone)) }
    if name == "in" { return try list(of: column, isAlone: isAlone) }
    if name == "is" {
      let what = isAlone ? rest() : word()
      switch what {
      case "null": return .isNull(column: column)
      case "not_null": return .not(.isNull(column: column))
      default: throw Self.error("is takes null or not_null")
      }
    }
    guard let comparison = Filter.Comparison(rawValue: name) else {
      throw Self.error(
        "there is no operator \(name); there are eq, neq, lt, lte, gt, gte, like, in, is and not")
    }
    let value = isAlone ? rest() : try self.value()
    if comparison == .like, value.utf8.count > Filter.longestPattern {
      throw Self.error("the pattern of like is too long")
    }
    return .compare(column: column, comparison, value)
  }

  private mutating func rest() -> String {
    var rest = String.UnicodeScalarView()
    rest.append(contentsOf: characters[at...])
    at = characters.count
    return String(rest)
  }

  private mutating func list(of column: String, isAlone: Bool) throws(Problem) -> Filter {
    guard skip("(") else { throw Self.error("in takes a list: in.(1,2)") }
    var values: [String] = []
    if skip(")") { return .isIn(column: column, values) }
    repeat {
      guard values.count < Filter.mostValues else { throw Self.error("in has too many values") }
      values.append(try value())
    } while skip(",")
    guard skip(")") else { throw Self.error("the list of in is not closed") }
    if isAlone, at < characters.count { throw Self.error("something stands behind the list of in") }
    return .isIn(column: column, values)
  }

  /// A value in a list: bare up to the next comma or bracket, in quotes, or a long form.
  private mutating func value() throws(Problem) -> String {
    if next == "\"" { return try quoted() }
    var value = String.UnicodeScalarView()
    let isForm = next == "{"
    while let scalar = next {
      if !isForm, scalar == "," || scalar == ")" { break }
      value.append(scalar)
      at += 1
      if isForm, scalar == "}" { break }
    }
    return String(value)
  }

  /// What stands in double quotes; a backslash keeps the character behind it as it is.
  private mutating func quoted() throws(Problem) -> String {
    at += 1
    var text = String.UnicodeScalarView()
    while let scalar = next {
      at += 1
      if scalar == "\"" { return String(text) }
      if scalar == "\\", let escaped = next {
        text.append(escaped)
        at += 1
      } else {
        text.append(scalar)
      }
    }
    throw Self.error("a quote is not closed")
  }
}
