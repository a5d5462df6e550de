/// What a step of an exchange claims, and whether it may: the same for every kind of replica.
extension Merge {
  /// What the frontier is raised to in the commit of this step: nothing before End.
  ///
  /// Of an origin of which less counts as held than when the exchange began the sender has left
  /// out what did, and of others this replica has: so nothing of them is covered.
  package func claim(beside frontier: Frontier) -> Frontier {
    movesFrontier ? whole(kind.covers, beside: frontier) : Frontier()
  }

  private func whole(_ claim: Frontier, beside frontier: Frontier) -> Frontier {
    claim.keeping { frontier[$0] >= base[$0] && leftOut[$0] == nil }
  }

  /// What the judged frontier is joined with in the commit of this step: nothing before End, for
  /// the certificates that belong to it come with the exchange.
  package var verdicts: Judged? { movesFrontier ? judged : nil }

  /// Whether all that its sender holds is here with it, for who has asked for everything. A leaf
  /// speaks for itself alone, and a push brings what is new.
  package var bringsAll: Bool {
    guard movesFrontier, licence == nil, case .full = kind else { return false }
    return true
  }

  /// False for a push that would leave a gap above what is held.
  package func follows(_ frontier: Frontier) -> Bool {
    guard case .push(let origin, let from, _) = kind, end != nil else { return true }
    return frontier[origin] >= from
  }

  /// How far the sender's rows were worked through with this step, whose last row is `last`; nil
  /// if that is not to be remembered.
  package func progress(after last: Dot?, beside frontier: Frontier) -> Frontier? {
    guard !movesFrontier, case .full(let covers) = kind, let last else { return nil }
    return whole(covers.reached(at: last), beside: frontier)
  }

  /// Decodes everything and checks it against End, before anything is changed.
  package func decoded() throws(WireError) -> [RowBatch] {
    var decoded: [RowBatch] = []
    for batch in try packed({ _, _, _ in }) {
      decoded.append(RowBatch(tables: batch.tables, rows: try batch.rows))
    }
    return decoded
  }

  /// The same for who reads the rows later: shows the head of each once, with the number of its
  /// batch and the shape of its table.
  package func packed(
    _ show: (Int, TableShape, RowHead) -> Void
  ) throws(WireError) -> [PackedBatch] {
    var packed: [PackedBatch] = []
    var (rows, check) = (rowsBefore, checkBefore)
    for (number, bytes) in batches.enumerated() {
      packed.append(
        try PackedBatch(bytes: bytes) { (shape, head) throws(WireError) in
          let isRuling = head.ruling != nil
          if let licence, !licence.allows(head.version, isRuling: isRuling, in: shape.name) {
            throw WireError(.notAllowed, "a row of \(shape.name)")
          }
          rows &+= 1
          check &+= head.version.check
          show(number, shape, head)
        })
    }
    if let end, end.rows != rows || end.check != check {
      throw WireError(.malformed, "the exchange that does not match its End")
    }
    return packed
  }
}
