import Flotilla
import Foundation
import Testing

@testable import FlotillaRows

@Suite struct `A row as a type` {
  enum Colour: String, Codable { case red, green }

  struct Part: Codable, Equatable {
    var weight: Double
    var marks: [Int]
  }

  struct Whole: Codable, Equatable {
    var text = "Växjö"
    var yes = true
    var small: Int8 = -5
    var large = UInt64(Int64.max)
    var real = 5.0
    var narrow: Float = 0.5
    var blob = Data([0, 255])
    var bytes: [UInt8] = [1, 2]
    var at = Date(timeIntervalSince1970: 1_764_177_790.5)
    var id = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    var colour = Colour.green
    var part = Part(weight: 1.5, marks: [1, 2])
    var list = ["a", "b"]
    var empty: [String] = []
    var noBytes: [UInt8] = []
    var link = URL(string: "https://sqlite.org/wal.html")
    var price = Decimal(string: "1.10")
    var raw = SQLValue.malformedText([0xFF])
    var noText: String?
    var noNumber: Int?
    var noPart: Part?
    var noDate: Date?
  }

  @Test func `has a column for each property, NULL for nil`() throws {
    let row = try RowEncoder.row(of: Whole())
    let expected: [String: SQLValue] = [
      "text": "Växjö", "yes": 1, "small": -5, "large": .integer(.max), "real": 5.0, "narrow": 0.5,
      "blob": .blob([0, 255]), "bytes": .blob([1, 2]), "at": "2025-11-26 17:23:10.500",
      "id": "E621E1F8-C36C-495A-93FC-0C247A3E6E5F", "colour": "green",
      "part": #"{"marks":[1,2],"weight":1.5}"#, "list": #"["a","b"]"#, "empty": "[]",
      "noBytes": .blob([]), "link": "https://sqlite.org/wal.html", "price": "1.1",
      "raw": .malformedText([0xFF]),
      "noText": nil, "noNumber": nil, "noPart": nil, "noDate": nil,
    ]
    #expect(row == expected)
    #expect(try RowDecoder.value(Whole.self, of: row) == Whole())
  }

  @Test func `may be a dictionary, with whatever columns there are`() throws {
    let row: [String: SQLValue] = ["a": 1, "b": .blob([1]), "c": nil, "d": 1.0]
    #expect(try RowEncoder.row(of: row) == row)
    #expect(try RowDecoder.value([String: SQLValue].self, of: row) == row)
  }

  @Test func `a column that is not there leaves an optional nil`() throws {
    struct Row: Codable, Equatable {
      var a: Int
      var b: Int?
    }
    #expect(try RowDecoder.value(Row.self, of: ["a": 1, "z": 2]) == Row(a: 1))
    // Capitals do not count, as in SQLite.
    #expect(try RowDecoder.value(Row.self, of: ["A": 1, "B": 2]) == Row(a: 1, b: 2))
    // SQLite stores 5.0 in a REAL column as an integer, and gives it as a REAL; others may not.
    struct Real: Codable, Equatable { var a: Double }
    #expect(try RowDecoder.value(Real.self, of: ["a": 5]) == Real(a: 5))
  }

  struct One<Value: Codable & Sendable>: Codable, Sendable { var a: Value }

  @Test func `what does not fit is told with its column`() throws {
    func error<Value: Codable & Sendable>(_ type: Value.Type, _ value: SQLValue) -> String? {
      let error = #expect(throws: FlotillaError.self) {
        try RowDecoder.value(One<Value>.self, of: ["a": value])
      }
      #expect(error?.code == .usage)
      return error?.message
    }
    #expect(
      error(Int8.self, 200)?.hasSuffix("column a: it holds an INTEGER, which is no Int8") == true)
    #expect(
      error(Int.self, "x")?.hasSuffix("column a: it holds a TEXT, which is no Int") == true)
    #expect(error(Int.self, 1.0)?.contains("holds a REAL") == true)
    #expect(error(Bool.self, 2)?.contains("holds an INTEGER") == true)
    #expect(error(String.self, nil)?.contains("it is NULL") == true)
    #expect(error(Float.self, 1e300)?.contains("which is no Float") == true)
    #expect(error(Float.self, 16_777_217)?.contains("which is no Float") == true)
    #expect(error(URL.self, 1)?.contains("which is no URL") == true)
    #expect(error(Double.self, .integer(.max))?.contains("which is no Double") == true)
    #expect(error(Data.self, "x")?.contains("which is no Data") == true)
    #expect(error(Date.self, "2026-02-30")?.contains("which is no Date") == true)
    #expect(error([Int].self, "[1")?.contains("it holds no JSON") == true)
    // What would be written back as another text, or not in full.
    let id = "e621e1f8-c36c-495a-93fc-0c247a3e6e5f"
    #expect(error(UUID.self, .text(id))?.contains("UUID writes otherwise") == true)
    #expect(error(URL?.self, "http://a/ä b")?.contains("URL writes otherwise") == true)
    let long = "12345678901234567890123456789012345678.9"
    for text in ["1,234.50", "1 ", "x", "", ".", "1.5e", "nan", long] {
      #expect(error(Decimal.self, .text(text))?.contains("which is no Decimal") == true, "\(text)")
    }
    let prices = ["1.50", "-0.05", "+7", "1e3", "0", "00012.10"].map {
      try? RowDecoder.value(One<Decimal>.self, of: ["a": .text($0)]).a
    }
    #expect(prices == [1.5, -0.05, 7, 1000, 0, 12.1].map { Decimal($0 * 100) / 100 })
    #expect(error(UUID.self, "x") != nil && error(Colour.self, "blue") != nil)
    let missing = #expect(throws: FlotillaError.self) {
      try RowDecoder.value(One<Int>.self, of: [:])
    }
    #expect(missing?.message.hasSuffix("there is no column a") == true)
  }

  @Test func `what no row can hold is refused`() {
    struct Nested: Encodable {
      enum Key: CodingKey { case a, b }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        var nested = container.nestedContainer(keyedBy: Key.self, forKey: .a)
        try nested.encode(1, forKey: .b)
      }
    }
    func refused(_ value: some Encodable) -> String? {
      #expect(throws: FlotillaError.self) { try RowEncoder.row(of: value) }?.message
    }
    #expect(refused(One(a: UInt64.max))?.contains("a: 18446744073709551615 does not fit") == true)
    #expect(refused(One(a: Double.nan))?.contains("a: SQLite has no NaN") == true)
    #expect(refused(One(a: Date(timeIntervalSince1970: 1e15)))?.contains("years 1 to") == true)
    #expect(refused(One(a: Date(timeIntervalSince1970: .nan)))?.contains("years 1 to") == true)
    #expect(refused([1, 2])?.contains("it has no properties") == true)
    #expect(refused(5)?.contains("it has no properties") == true)
    #expect(refused(Nested())?.contains("into one another") == true)
  }

  @Test(arguments: [
    ("2026-11-26", 1_795_651_200.0), ("2026-11-26 17:03", 1_795_712_580),
    ("2026-11-26T17:03:10", 1_795_712_590), ("2026-11-26 17:03:10.25", 1_795_712_590.25),
    ("2026-11-26T17:03:10Z", 1_795_712_590), ("2026-11-26 18:03:10+01:00", 1_795_712_590),
    ("1969-12-31 23:59:59.5", -0.5),
  ])
  func `a date is read as SQLite's functions write it`(text: String, seconds: Double) {
    #expect(RowDate.date(of: text) == Date(timeIntervalSince1970: seconds))
  }

  @Test(arguments: ["", "x", "2026-13-01", "2026-11-26 25:00", "2026-11-26 17", "26-11-2026"])
  func `other texts are no dates`(text: String) { #expect(RowDate.date(of: text) == nil) }

  @Test func `a date is the same again, to the millisecond`() throws {
    for seconds in [
      0, 0.001, 1_764_177_790.999, 1_764_177_790.9994, -0.001, -1_000_000.25, 4e9, -6.2e10, 2.5e11,
    ] {
      let text = try RowDate.text(of: Date(timeIntervalSince1970: seconds))
      let back = RowDate.date(of: text)?.timeIntervalSince1970 ?? .nan
      #expect(abs(back - seconds) <= 0.000_501, "\(seconds): \(text)")
      #expect(text.count == 23)
    }
  }
}
