/// Writes a number with commas between thousands: `48,112`.
func thousands(_ number: Int) -> String {
  let digits = String(number.magnitude)
  var text = ""
  for (place, digit) in digits.enumerated() {
    if place > 0, (digits.count - place).isMultiple(of: 3) { text.append(",") }
    text.append(digit)
  }
  return number < 0 ? "−" + text : text
}

/// Writes a number and what it counts: `1 row`, `1,204 rows`.
func counted(_ number: Int, _ one: String, _ many: String? = nil) -> String {
  "\(thousands(number)) \(number == 1 ? one : many ?? one + "s")"
}

/// Writes a number that is not negative with so many digits after the point.
func decimal(_ number: Double, places: Int) -> String {
  guard number.isFinite, number < 1e15 else { return "?" }
  let scale = (0..<places).reduce(1) { product, _ in product * 10 }
  let whole = Int((number * Double(scale)).rounded())
  guard places > 0 else { return thousands(whole) }
  let fraction = String(whole % scale)
  let zeros = String(repeating: "0", count: places - fraction.count)
  return thousands(whole / scale) + "." + zeros + fraction
}

/// Writes a number of bytes in decimal units: `812 bytes`, `1.4 MB`, `31 MB`.
func bytes(_ count: Int) -> String {
  if count < 1000 { return counted(count, "byte") }
  var amount = Double(count) / 1000
  for unit in ["kB", "MB", "GB"] {
    if amount < 9.95 { return decimal(amount, places: 1) + " " + unit }
    if amount < 999.5 { return decimal(amount, places: 0) + " " + unit }
    amount /= 1000
  }
  return decimal(amount, places: 1) + " TB"
}

/// Writes a span of time with two units at most: `0.02 s`, `1.4 s`, `3 s`, `1 h 02 m`, `3 d 04 h`.
func span(_ seconds: Double) -> String {
  guard seconds.isFinite, seconds < 1e12 else { return "?" }
  if seconds < 0.995 { return trimmed(decimal(max(0, seconds), places: 2)) + " s" }
  if seconds < 59.95 { return trimmed(decimal(seconds, places: 1)) + " s" }
  let whole = Int(seconds.rounded())
  let (large, small, words) =
    switch whole {
    case ..<3600: (whole / 60, whole % 60, ("m", "s"))
    case ..<86_400: (whole / 3600, whole % 3600 / 60, ("h", "m"))
    default: (whole / 86_400, whole % 86_400 / 3600, ("d", "h"))
    }
  let digits = small < 10 ? "0\(small)" : "\(small)"
  return "\(thousands(large)) \(words.0) \(digits) \(words.1)"
}

/// Drops zeros after the point that say nothing: `3.0` is `3`.
private func trimmed(_ number: String) -> String {
  guard number.contains(".") else { return number }
  var text = number[...]
  while text.last == "0" { text.removeLast() }
  if text.last == "." { text.removeLast() }
  return String(text)
}

/// Writes a difference of clocks in milliseconds: `+0.02 s`, `−1 h 02 m`.
func clockOffset(_ milliseconds: Int) -> String {
  let seconds = Double(milliseconds.magnitude) / 1000
  let sign = milliseconds < 0 ? "−" : "+"
  return sign + (seconds < 59.95 ? decimal(seconds, places: 2) + " s" : span(seconds))
}
