import FoundationEssentials
import Glibc
import SQLite

/// What a request wants of the rows of a table.
struct RowQuery: Equatable {
  struct Order: Equatable {
    var column: String
    var isDescending: Bool
  }

  var filters: [Filter] = []
  /// The columns to show; none stands for all.
  var select: [String] = []
  var order: [Order] = []
  var limit = Self.usualLimit
  /// Where the page before has ended.
  var next: String?

  static let usualLimit = 1_000
  static let highestLimit = 10_000
  static let mostNames = 100

  /// Reads the query of a request; `takes` names the parameters beside filters.
  init(_ parameters: [RequestTarget.Parameter], takes: Set<String> = Self.ofPage) throws(Problem) {
    var seen: Set<String> = []
    for parameter in parameters {
      let (name, text) = (parameter.name, parameter.value)
      switch name {
      case "or", "and": filters.append(try FilterReader.read(group: name, text))
      case "not.or", "not.and":
        filters.append(.not(try FilterReader.read(group: String(name.dropFirst(4)), text)))
      case "select", "order", "limit", "next":
        guard takes.contains(name) else {
          throw .badRequest("query", "\(name) makes no sense here")
        }
        guard seen.insert(name).inserted else {
          throw .badRequest("query", "\(name) is given twice")
        }
        try readPage(name, text)
      default: filters.append(try FilterReader.read(column: name, text))
      }
    }
    let (all, patterns) = Filter.all(filters).terms
    guard all <= Filter.mostTerms, patterns <= Filter.mostPatterns else {
      throw .badRequest("filter", "there are too many conditions")
    }
  }

  static let ofPage: Set<String> = ["select", "order", "limit", "next"]

  private mutating func readPage(_ name: String, _ text: String) throws(Problem) {
    switch name {
    case "select": select = try Self.names(text)
    case "order":
      order = try Self.names(text).map { part throws(Problem) in
        let isDescending = part.hasSuffix(".desc")
        let isAscending = part.hasSuffix(".asc")
        let name = isDescending ? part.dropLast(5) : isAscending ? part.dropLast(4) : part[...]
        return Order(column: String(name), isDescending: isDescending)
      }
    case "limit":
      guard let number = Int(text), (1...Self.highestLimit).contains(number) else {
        throw .badRequest("query", "limit takes a number from 1 to \(Self.highestLimit)")
      }
      limit = number
    default: next = text
    }
  }

  private static func names(_ text: String) throws(Problem) -> [String] {
    let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard names.count <= mostNames, !names.contains("") else {
      throw .badRequest("query", "a list of columns has an empty name, or too many")
    }
    return names
  }

  /// The columns by which rows are sorted, the key last, so that no two rows are in one place.
  func places(in table: TableShape) throws(Problem) -> [(place: Int, isDescending: Bool)] {
    var places: [(place: Int, isDescending: Bool)] = []
    for one in order {
      let place = try table.column(one.column)
      if !places.contains(where: { $0.place == place }) { places.append((place, one.isDescending)) }
    }
    for place in table.key where !places.contains(where: { $0.place == place }) {
      places.append((place, false))
    }
    return places
  }

  /// The columns that are shown.
  func shown(in table: TableShape) throws(Problem) -> [Int] {
    guard !select.isEmpty else { return Array(table.columns.indices) }
    var shown: [Int] = []
    for name in select where name != "*" {
      let place = try table.column(name)
      guard !shown.contains(place) else {
        throw .badRequest("query", "\(name) is selected twice")
      }
      shown.append(place)
    }
    return select.contains("*") ? Array(table.columns.indices) : shown
  }
}

/// Where a page of rows ends: the values by which its last row was sorted.
struct PageEnd: Equatable {
  var values: [Value]

  /// Whether the values may fit into a link at all.
  var isShort: Bool {
    values.reduce(0) { $0 + RowText.size(of: $1) } <= RequestTarget.longest
  }

  /// Such a page has no next one: no client could ask for it.
  static var tooLong: Problem {
    Problem(
      422, "next",
      "the page ends in a row whose order takes more than a link can hold (16 KiB)",
      remedy: "Sort by shorter columns, or take another limit.")
  }

  /// A text that only this gateway is to understand.
  func text(of order: String) -> String {
    var json = RowText()
    json.append("[")
    json.append(quoted: Array(order.utf8))
    for value in values {
      json.append(",")
      json.append(value, isUntyped: true)
    }
    json.append("]")
    return Data(json.bytes).base64EncodedString().replacing("+", with: "-")
      .replacing("/", with: "_").replacing("=", with: "")
  }

  /// Reads such a text; it must be of a page in the same order.
  init(_ text: String, order: String, count: Int) throws(Problem) {
    let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    let base64 = text.replacing("-", with: "+").replacing("_", with: "/") + padding
    guard let data = Data(base64Encoded: base64),
      case .array(let parts)? = try? JSONReader.read([UInt8](data)),
      parts.first == .text(order), parts.count == count + 1
    else {
      throw .badRequest("next", "next is not of a page in this order; begin again without it")
    }
    values = []
    for part in parts.dropFirst() {
      guard let value = try? part.stored() else {
        throw .badRequest("next", "next is damaged; begin again without it")
      }
      values.append(value)
    }
  }

  init(values: [Value]) { self.values = values }
}

extension RowQuery {
  /// The SELECT of one page, with the columns that are shown first and those of the order behind
  /// them; one row more than the page holds tells whether there are more.
  func statement(on table: TableShape) throws(Problem) -> SQLText {
    let order = try places(in: table)
    var sql = SQLText()
    sql.add("SELECT ")
    sql.add(columns: (try shown(in: table) + order.map(\.place)).map { table.columns[$0] })
    sql.add(" FROM ")
    sql.add(table: table)
    sql.add(" WHERE 1")
    // A row with NULL in its key is no replicated one.
    for column in table.keyColumns {
      sql.add(" AND ")
      sql.add(name: column.name)
      sql.add(" IS NOT NULL")
    }
    for filter in filters {
      sql.add(" AND ")
      try sql.add(filter, on: table)
    }
    if let next {
      let end = try PageEnd(next, order: try name(of: order, table), count: order.count)
      sql.add(" AND ")
      sql.add(after: end, order.map { (table.columns[$0.place].name, $0.isDescending) })
    }
    sql.add(" ORDER BY ")
    for (index, one) in order.enumerated() {
      if index > 0 { sql.add(", ") }
      sql.add(name: table.columns[one.place].name)
      if one.isDescending { sql.add(" DESC") }
    }
    sql.add(" LIMIT ")
    sql.add(number: limit + 1)
    return sql
  }

  /// The order in words, for `next`.
  func name(of order: [(place: Int, isDescending: Bool)], _ table: TableShape) throws(Problem)
    -> String
  {
    table.name + ":"
      + order.map { table.columns[$0.place].name + ($0.isDescending ? "-" : "+") }.joined()
  }
}

extension SQLText {
  /// The rows that stand behind the end of a page. SQLite sorts NULL before everything. Each value
  /// is bound once, in however many conditions it stands.
  mutating func add(after end: PageEnd, _ order: [(name: String, isDescending: Bool)]) {
    var numbers: [Int: Int] = [:]
    func refer(to index: Int, in sql: inout SQLText) {
      if let number = numbers[index] {
        sql.add(bound: number)
      } else {
        numbers[index] = sql.bind(end.values[index])
      }
    }
    add("(")
    for index in order.indices {
      if index > 0 { add(" OR ") }
      add("(")
      for before in 0..<index {
        add(name: order[before].name)
        add(" IS ")
        refer(to: before, in: &self)
        add(" AND ")
      }
      let (name, isDescending) = order[index]
      switch (end.values[index].isNull, isDescending) {
      case (true, true): add("0")
      case (true, false):
        add(name: name)
        add(" IS NOT NULL")
      case (false, true):
        add("(")
        add(name: name)
        add(" < ")
        refer(to: index, in: &self)
        add(" OR ")
        add(name: name)
        add(" IS NULL)")
      case (false, false):
        add(name: name)
        add(" > ")
        refer(to: index, in: &self)
      }
      add(")")
    }
    add(")")
  }
}
