import Replication

/// One version of a row of the table of laws.
struct LawVersion {
  let row: Int64
  /// Nil if it is deleted.
  let content: Int64?
  var version: Version

  init(row: Int64, content: Int64?, stamp: Int64, origin: UInt64, seq: UInt64) {
    self.row = row
    self.content = content
    let dot = Dot(Origin(rawValue: origin), seq)
    version = Version(
      dot: dot, created: dot, stamp: Stamp(rawValue: stamp),
      hash: content.map { LawStore.hash(row, $0) } ?? 0, isDeleted: content == nil)
  }

  /// The same, made on a certificate of this rank.
  func made(in term: Term, epoch: UInt64, knowing context: [Dot] = []) -> LawVersion {
    var law = self
    (law.version.term, law.version.epoch) = (term, epoch)
    for dot in context { law.version.context.add(dot) }
    return law
  }

  /// The same as a certificate on an edit.
  func certifying(_ edit: Dot, in term: Term, epoch: UInt64) -> LawVersion {
    var law = made(in: term, epoch: epoch)
    law.version.certificate = Version.Certificate(edit: edit, at: version.stamp)
    return law
  }

  /// The same of which nothing tells when it was made.
  var undated: LawVersion {
    var law = self
    law.version.isUndated = true
    return law
  }

  /// What decides, said once more: the term of the anchor and which of two rivals it is, its count
  /// of certificates, tentative above certified, the stamp, the origin. Then comes what no two
  /// versions share unless a replica was copied. Nothing else of a version does.
  var rank: [UInt64] {
    [
      version.term.number, version.term.incarnation, version.epoch,
      version.certificate == nil ? 1 : 0, UInt64(version.stamp.rawValue),
      version.dot.origin.rawValue, version.hash, version.dot.seq,
    ]
  }

  func isBelow(_ other: LawVersion) -> Bool { rank.lexicographicallyPrecedes(other.rank) }
}
