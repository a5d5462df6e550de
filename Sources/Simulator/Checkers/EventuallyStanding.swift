import Replication

/// Once everything has healed, a row is parked only beside one that stands and has its value, and
/// what an anchor has certified not beside what it has not; else the one created first stands.
enum EventuallyStanding {
  static func check(_ all: [(name: String, shown: Observation)], _ history: inout History) {
    for (name, shown) in all {
      for (row, badge) in shown.parked.sorted(by: { $0.key < $1.key }) {
        guard let code = badge.code,
          let rival = shown.standing.first(where: { $0.value.code == code })?.key
        else {
          history.blame("row \(row) is parked at \(name), and nobody has its value")
          continue
        }
        guard let hidden = shown.versions[row], let standing = shown.versions[rival] else {
          continue
        }
        if !hidden.isTentative, standing.isTentative {
          history.blame("row \(row) is parked at \(name), though only it is certified")
        } else if hidden.isTentative == standing.isTentative,
          hidden.createdAt < standing.createdAt
        {
          history.blame("row \(row) is parked at \(name), though it was there before \(rival)")
        }
      }
    }
  }
}
