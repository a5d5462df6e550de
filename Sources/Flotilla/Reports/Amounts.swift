/// Writes a number with commas between thousands: `48,112`.
package func thousands(_ number: Int) -> String {
  let digits = String(number.magnitude)
  var text = ""
  for (place, digit) in digits.enumerated() {
    if place > 0, (digits.count - place).isMultiple(of: 3) { text.append(",") }
    text.append(digit)
  }
  return number < 0 ? "−" + text : text
}

/// Writes a number and what it counts: `1 row`, `1,204 rows`.
package func counted(_ number: Int, _ one: String, _ many: String? = nil) -> String {
  "\(thousands(number)) \(number == 1 ? one : many ?? one + "s")"
}

/// Writes a number that is not negative with so many digits after the point.
package func decimal(_ number: Double, places: Int) -> String {
  guard number.isFinite, number < 1e15 else { return "?" }
  let scale = (0..<places).reduce(1) { product, _ in product * 10 }
  let whole = Int((number * Double(scale)).rounded())
  guard places > 0 else { return thousands(whole) }
  let fraction = String(whole % scale)
  let zeros = String(repeating: "0", count: places - fraction.count)
  return thousands(whole / scale) + "." + zeros + fraction
}

/// Writes a number of bytes in decimal units: `812 bytes`, `1.4 MB`, `31 MB`.
package func sized(_ count: Int) -> String {
  if count < 1000 { return counted(count, "byte") }
  var amount = Double(count) / 1000
  for unit in ["kB", "MB", "GB"] {
    if amount < 9.95 { return decimal(amount, places: 1) + " " + unit }
    if amount < 999.5 { return decimal(amount, places: 0) + " " + unit }
    amount /= 1000
  }
  return decimal(amount, places: 1) + " TB"
}
