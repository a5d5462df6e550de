import Replication

/// Nothing comes to a node of a table that it may not read, from one that knows so.
enum AnytimeHidden {
  /// What a node held in such tables before a merge and after it; what it writes there itself is
  /// its own affair.
  static func check(
    _ before: [RowNumber: Version], _ after: [RowNumber: Version], own: Origin,
    _ history: inout History, from sender: String, to node: String
  ) {
    for (row, version) in after where before[row] != version && version.dot.origin != own {
      history.blame("\(sender) has sent row \(row) to \(node), which may not read it")
    }
  }
}
