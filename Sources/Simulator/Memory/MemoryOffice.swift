import Replication

/// What a replica in memory keeps because of the anchor.
struct MemoryOffice {
  struct Notice {
    var row: RowNumber
    var version: Version
    var ruling: Ruling
  }

  var office = Office()
  var judged = Judged()
  var epoch: UInt64 = 0
  var certifiesAll = false
  var awaited: [Governance.Predecessor] = []
  /// The next row to certify on taking office.
  var cursor = 0
  var pending: [RowNumber: [Origin: Version]] = [:]
  /// Versions that are here by name alone.
  var byName: Set<Dot> = []
  var rulings: [Dot: Notice] = [:]
  /// Which edit an anchor rejected, in which terms.
  var rejected: [Dot: [Term: Ruling]] = [:]
  /// What was accepted in this term, and overruled by an edit that had not seen it.
  var overruled: [RowNumber: Frontier] = [:]
  /// The seqs of this replica's own edits of each row that an anchor is to judge.
  var written: [RowNumber: [UInt64]] = [:]
  /// Own edits that were made again, and as which.
  var again: [UInt64: UInt64] = [:]
  var log: [Observation.Logged] = []
  /// What others look at.
  var view = OfficeView()
}
