import Flotilla

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
  // What is shown as nothing has no direction.
  let sign = milliseconds < 0 && seconds >= 0.005 ? "−" : "+"
  return sign + (seconds < 59.95 ? decimal(seconds, places: 2) + " s" : span(seconds))
}
