/// The places of requests that are worked on, by who asks: nobody takes more than three quarters.
struct RequestPlaces {
  private let most: Int
  private var askers: [Int: String] = [:]
  private var counts: [String: Int] = [:]

  init(most: Int) { self.most = most }

  /// Whether somebody may have one more.
  func hasRoom(for asker: String) -> Bool {
    askers.count < most && counts[asker, default: 0] < max(1, most - most / 4)
  }

  mutating func enter(_ number: Int, for asker: String) {
    askers[number] = asker
    counts[asker, default: 0] += 1
  }

  /// Without a word if the request has none.
  mutating func leave(_ number: Int) {
    guard let asker = askers.removeValue(forKey: number) else { return }
    let rest = counts[asker, default: 0] - 1
    counts[asker] = rest > 0 ? rest : nil
  }
}
