import Replication

extension Frontier {
  /// How many edits it covers.
  var edits: Int {
    // A member may have said any numbers.
    entries.values.reduce(0) { sum, seq in
      let (sum, isAbsurd) = sum.addingReportingOverflow(Int(clamping: seq))
      return isAbsurd ? .max : sum
    }
  }
}
