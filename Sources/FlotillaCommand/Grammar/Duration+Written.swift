extension Duration {
  /// Reads a duration as people type it: `500ms`, `30s`, `1.5s`, `15m`, `2h`, `7d`.
  ///
  /// A bare number is nil: whoever types `--timeout 30` may mean either seconds or minutes.
  /// So is anything beyond ten years, which keeps later arithmetic far from overflow.
  init?(written text: String) {
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let units: [Substring: Double] = ["ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400]
    guard let unit = units[text[number.endIndex...]] else { return nil }
    guard number.first != ".", number.last != ".", let count = Double(number) else { return nil }
    guard count * unit <= 3650 * 86_400 else { return nil }
    self = .seconds(count * unit)
  }
}
