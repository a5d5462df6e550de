/// What a step of an exchange claims, and whether it may: the same for every kind of replica.
extension Merge {
  /// What the frontier is raised to in the commit of this step: nothing before End.
  package var claim: Frontier { movesFrontier ? kind.covers : Frontier() }

  /// What the judged frontier is joined with in the commit of this step: nothing before End, for
  /// the certificates that belong to it come with the exchange.
  package var verdicts: Judged? { movesFrontier ? judged : nil }

  /// False for a push that would leave a gap above what is held.
  package func follows(_ frontier: Frontier) -> Bool {
    guard case .push(let origin, let from, _) = kind, end != nil else { return true }
    return frontier[origin] >= from
  }

  /// How far the sender's rows were worked through with this step, whose last row is `last`; nil
  /// if that is not to be remembered.
  package func progress(after last: Dot?) -> Frontier? {
    guard !movesFrontier, case .full(let covers) = kind, let last else { return nil }
    return covers.reached(at: last)
  }

  /// Decodes everything and checks it against End, before anything is changed.
  package func decoded() throws(WireError) -> [RowBatch] {
    var decoded: [RowBatch] = []
    var (rows, check) = (rowsBefore, checkBefore)
    for bytes in batches {
      let batch = try RowBatch(bytes: bytes)
      if let licence,
        let row = batch.rows.first(where: {
          !licence.allows($0, in: batch.tables[$0.table].name)
        })
      {
        throw WireError(.notAllowed, "a row of \(batch.tables[row.table].name)")
      }
      rows &+= UInt64(batch.rows.count)
      check &+= batch.check
      decoded.append(batch)
    }
    if let end, end.rows != rows || end.check != check {
      throw WireError(.malformed, "the exchange that does not match its End")
    }
    return decoded
  }
}
