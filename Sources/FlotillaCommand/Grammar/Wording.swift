/// Puts text that a person gave between quotation marks, safe to show on a terminal. What is longer
/// than any name may be is cut short.
func quoted(_ text: String) -> String {
  "\"\(printable(text.utf8.count > 128 ? "\(text.prefix(40))…" : text))\""
}

/// A name as a column of a table has it: one of 128 characters would push the others away.
func shortened(_ text: String, to count: Int) -> String {
  text.count > count ? "\(text.prefix(count - 1))…" : text
}

/// The first element that stands in `names` twice.
func firstRepeated(_ names: [String]) -> String? {
  var seen: Set<String> = []
  return names.first { !seen.insert($0).inserted }
}

/// Writes `a, b or c`.
func enumerated(_ words: [String]) -> String {
  guard words.count > 1, let last = words.last else { return words.first ?? "" }
  return words.dropLast().joined(separator: ", ") + " or " + last
}

/// Writes `; did you mean …?` if one of the candidates is a near miss, otherwise nothing.
func suggestion(for text: String, among candidates: [String]) -> String {
  guard let near = nearMiss(for: text, among: candidates) else { return "" }
  return "; did you mean \(near)?"
}

/// The candidate that is fewest slips away from `text`, if that is few enough to be meant.
///
/// A third of the letters may be wrong: fewer misses `statsu`, more turns every word into another.
func nearMiss(for text: String, among candidates: [String]) -> String? {
  let allowed = max(1, text.count / 3)
  let best = candidates.map { ($0, slips(from: text, to: $0)) }.min { $0.1 < $1.1 }
  guard let (word, count) = best, count <= allowed else { return nil }
  return word
}

/// Counts inserted, dropped, changed and swapped letters (optimal string alignment).
private func slips(from first: String, to second: String) -> Int {
  let a = Array(first.prefix(64))
  let b = Array(second.prefix(64))
  var table = [[Int]](repeating: Array(0...b.count), count: a.count + 1)
  for row in 0..<a.count {
    table[row + 1][0] = row + 1
    for column in 0..<b.count {
      let changed = table[row][column] + (a[row] == b[column] ? 0 : 1)
      var least = min(table[row][column + 1] + 1, table[row + 1][column] + 1, changed)
      if row > 0, column > 0, a[row] == b[column - 1], a[row - 1] == b[column] {
        least = min(least, table[row - 1][column - 1] + 1)
      }
      table[row + 1][column + 1] = least
    }
  }
  return table[a.count][b.count]
}
