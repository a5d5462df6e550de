extension Duration {
  /// The longest that is read, in days: ten years keep later arithmetic far from overflow.
  static let mostDays = 3_650

  /// Reads a duration as people type it: `500ms`, `30s`, `1.5s`, `15m`, `2h`, `7d`.
  ///
  /// A bare number is nil: whoever types `--timeout 30` may mean either seconds or minutes. Only 0
  /// is the same in every unit. Nil, too, is anything beyond ten years.
  init?(written text: String) {
    guard let seconds = Self.seconds(written: text), seconds <= Double(Self.mostDays) * 86_400
    else { return nil }
    self = .seconds(seconds)
  }

  /// The same in seconds, however long.
  static func seconds(written text: String) -> Double? {
    if text == "0" { return 0 }
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let units: [Substring: Double] = ["ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400]
    guard let unit = units[text[number.endIndex...]] else { return nil }
    guard number.first != ".", number.last != ".", let count = Double(number) else { return nil }
    return count * unit
  }
}
