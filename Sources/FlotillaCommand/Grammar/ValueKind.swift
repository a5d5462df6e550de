/// What the text of a value must look like, checked before a command runs.
enum ValueKind: Sendable, Equatable {
  /// A name, a path or a code: anything that is not blank and has no control characters.
  case name
  /// The same, called otherwise where it is missing.
  case code
  /// Free text, for instance an SQL statement; only blank text is refused.
  case text
  /// Names with commas between them.
  case list
  /// A number with a unit; see `Duration.init(written:)`.
  case duration(atLeast: Duration)
  /// HOST:PORT; where one listens the host may be left out and the port be 0.
  case address(listening: Bool)
  /// A node's name, or HOST:PORT if there is a colon in it.
  case nodeOrAddress
  /// A whole number.
  case number(ClosedRange<Int>)
  /// One of a few words.
  case choice([String])

  /// Says why `text` is no such value, or nil if it is one.
  func objection(to text: String) -> String? {
    switch self {
    case .name: objectionToName(text)
    case .code: isBlank(text) ? "the code is empty" : objectionToName(text)
    case .text: isBlank(text) ? "the text is empty" : nil
    case .list: objectionToList(text)
    case .duration(let least): objectionToDuration(text, least: least)
    case .address(let listening): objectionToAddress(text, listening: listening)
    case .nodeOrAddress where text.contains(":"): objectionToAddress(text, listening: false)
    case .nodeOrAddress: objectionToName(text)
    case .number(let range): objectionToNumber(text, range)
    case .choice(let words): objectionToChoice(text, words: words)
    }
  }
}

extension ValueKind {
  /// Whether a word is meant as such a value, though there may be something wrong with it. It tells
  /// the value of an option that can stand alone from an argument behind it.
  ///
  /// A file whose name looks like an address is written `./127.0.0.1:80`.
  func isMeant(by text: String) -> Bool {
    guard case .address = self else { return objection(to: text) == nil }
    guard !text.contains("/") else { return false }
    let isNumber = !text.isEmpty && text.utf8.allSatisfy { $0 == 46 || (48...57).contains($0) }
    return text.contains(":") || isNumber || text == "localhost"
  }
}

private func isBlank(_ text: String) -> Bool { text.allSatisfy(\.isWhitespace) }

private func objectionToName(_ text: String) -> String? {
  if isBlank(text) { return "the name is empty" }
  let control = text.unicodeScalars.contains { $0.properties.generalCategory == .control }
  return control ? "\(quoted(text)) has control characters in it" : nil
}

private func objectionToList(_ text: String) -> String? {
  let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
  if names.contains(where: isBlank) { return "a name in \(quoted(text)) is empty" }
  if let twice = firstRepeated(names) { return "\(quoted(twice)) is named twice" }
  return names.lazy.compactMap(objectionToName).first
}

private func objectionToDuration(_ text: String, least: Duration) -> String? {
  guard let duration = Duration(written: text) else {
    if Duration.seconds(written: text) != nil {
      return "\(quoted(text)) is too long; the most is \(Duration.mostDays)d"
    }
    let hint =
      !text.isEmpty && text.allSatisfy(\.isNumber)
      ? "\(quoted(text)) has no unit" : "\(quoted(text)) is not a duration"
    return hint + "; write a number and ms, s, m, h or d, as in 500ms, 30s or 15m"
  }
  let seconds = least.components.seconds
  let shortest = seconds > 0 ? "\(seconds)s" : "\(least / .milliseconds(1))ms"
  return duration < least ? "\(quoted(text)) is too short; the least is \(shortest)" : nil
}

private func objectionToAddress(_ text: String, listening: Bool) -> String? {
  let example = text.contains(":") ? "192.168.4.17:7391" : "HOST:PORT, as in 192.168.4.17:7391"
  guard let colon = text.lastIndex(of: ":") else {
    return "\(quoted(text)) is not an address; write \(example)"
  }
  let host = text[..<colon]
  let port = text[text.index(after: colon)...]
  let bracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.count > 2
  if host.contains(where: { ":[]".contains($0) }), !bracketed {
    return "\(quoted(text)) is not an address; an IPv6 host stands in brackets, as in [::1]:7391"
  }
  if host.contains(where: \.isWhitespace) || (host.isEmpty && !listening) {
    return "\(quoted(text)) names no host; write \(example)"
  }
  let digits = !port.isEmpty && port.utf8.allSatisfy { (48...57).contains($0) }
  guard digits, let number = Int(port), (listening ? 0...65535 : 1...65535).contains(number) else {
    return "\(quoted(String(port))) is not a port; write a number up to 65535, as in \(example)"
  }
  return nil
}

private func objectionToNumber(_ text: String, _ range: ClosedRange<Int>) -> String? {
  if let number = Int(text), range.contains(number) { return nil }
  return "\(quoted(text)) is no whole number from \(range.lowerBound) to \(range.upperBound)"
}

private func objectionToChoice(_ text: String, words: [String]) -> String? {
  if words.contains(text) { return nil }
  return "\(quoted(text)) is none of \(enumerated(words))" + suggestion(for: text, among: words)
}
