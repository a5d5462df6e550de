/// What a program that uses the library was told, over all its lives.
struct Told {
  struct Verdict {
    var number: Int
    var key: Int
    var outcome: String
  }

  /// Rows whose saving was acknowledged.
  private(set) var saved: [Int] = []
  /// Changes of the row that the office writes, too.
  private(set) var changes = 0
  private(set) var verdicts: [Verdict] = []

  var last: Int { verdicts.last?.number ?? 0 }

  /// Takes in what one life has printed.
  mutating func hear(_ text: String) {
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      switch (words.first, words.count) {
      case ("saved", 2): saved += Int(words[1]).map { [$0] } ?? []
      case ("changed", 1): changes += 1
      case ("judged", 4):
        guard let number = Int(words[1]), let key = Int(words[2]) else { continue }
        verdicts.append(Verdict(number: number, key: key, outcome: String(words[3])))
      default: continue
      }
    }
  }

  /// Each edit that the replica has a verdict on, and each write that was acknowledged, was told
  /// of, once.
  func check(settled: [Int]) throws {
    let numbers = verdicts.map(\.number)
    guard numbers == settled else {
      throw CrashFailure("told of \(numbers), settled are \(settled)")
    }
    for key in saved {
      let outcomes = verdicts.filter { $0.key == key }.map(\.outcome)
      guard outcomes == ["accepted"] else { throw CrashFailure("row \(key) was \(outcomes)") }
    }
    guard changes == 0 || verdicts.contains(where: { $0.key == 0 }) else {
      throw CrashFailure("no word on \(changes) changes")
    }
  }
}
