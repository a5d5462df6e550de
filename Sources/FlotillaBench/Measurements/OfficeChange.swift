import Replication

/// The office of the anchor changes hands where much waits to be judged, or is parked.
enum OfficeChange: String, CaseIterable {
  case handsOver = "an anchor hands over before it has judged what came"
  case isTaken = "who has what waits takes office by force"
  case isTakenParked = "who has much parked takes office by force"
  case ends = "an author hears that nobody judges what it made"

  /// Milliseconds of each step of the node that has the work, with so many rows.
  func steps(rows: Int) throws -> [Double] {
    let site = try VerdictSite(
      ClientWins.name, rows: rows, isConstrained: self == .isTakenParked)
    switch self {
    case .handsOver:
      _ = try site.edit(authors: 5, concurrent: 0.05)
      _ = try site.exchange(from: 1, to: 0)
      try site.appoint(2, isForced: true, heardBy: [2])
      // Before the appointment a version of the higher term comes.
      return try site.exchange(from: 2, to: 0) + site.steps(0)
    case .isTaken, .ends:
      // What the anchor has written meanwhile outranks all that the author has.
      try site.write(1, "UPDATE item SET text = 'of the author ' || id")
      try site.write(0, "UPDATE item SET text = 'of the anchor ' || id")
      _ = try site.exchange(from: 0, to: 1)
      try site.appoint(self == .ends ? nil : 1, isForced: true, heardBy: [])
      return try site.hear(1)
    case .isTakenParked:
      // Two insert the same values under other keys: those that were created later are parked.
      for author in 1...2 {
        try site.write(
          author,
          "INSERT INTO item SELECT id + \(author * rows), 'new ' || id, n FROM item "
            + "WHERE id <= \(rows)")
      }
      _ = try site.exchange(from: 1, to: 2)
      try site.appoint(2, isForced: true, heardBy: [])
      return try site.hear(2)
    }
  }
}
