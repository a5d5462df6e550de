import Replication

/// In the end nobody holds a version of a term that nobody was appointed for, nor a certificate by
/// who was no anchor.
///
/// What one node was appointed for, and under which origins each has written, the world knows.
enum FinallyAppointed {
  static func check(
    _ shown: [(name: String, shown: Observation)], appointments: [Appointment],
    owners: [Origin: Identity], _ history: inout History
  ) {
    for (name, shown) in shown {
      for (row, version) in shown.versions where version.term != .none {
        let known = appointments.filter { $0.term == version.term }
        if known.isEmpty {
          history.blame("\(name) holds row \(row) of term \(version.term.number), which nobody has")
        } else if version.certificate != nil, let owner = owners[version.dot.origin],
          !known.contains(where: { $0.node == owner })
        {
          history.blame("\(name) holds a certificate of row \(row) by a node that was no anchor")
        }
      }
    }
  }
}
