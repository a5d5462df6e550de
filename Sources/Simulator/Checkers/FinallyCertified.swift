import Replication

/// Who has taken office by force has certified every row again that it held, and all that came
/// later: nothing that an earlier anchor has certified stands there as that one left it.
enum FinallyCertified {
  static func check(_ anchor: Observation, named name: String, _ history: inout History) {
    guard let office = anchor.office, office.part == 3 else { return }
    for (row, version) in anchor.versions.sorted(by: { $0.key < $1.key })
    where version.term < office.term {
      history.blame(
        "row \(row) at \(name), \(version.dot), stands by term \(version.term.number), "
          + "which somebody took over by force")
    }
  }
}
