/// Where a replica writes at present: its origin, which run of a node, and how far it has come.
package struct LifeMark: Sendable, Equatable {
  package var origin: Origin
  /// Random, one for each start of a node that may send what it writes; 0 before the first.
  package var run: UInt64
  /// The last own edit.
  package var seq: UInt64

  package init(origin: Origin, run: UInt64, seq: UInt64) {
    self.origin = origin
    self.run = run
    self.seq = seq
  }
}

/// What stands outside of the database about its life, to compare with what stands in it.
package struct LifeRecord: Sendable, Equatable {
  package var mark: LifeMark
  /// The run before, in case the database has not heard of the present one yet.
  package var previousRun: UInt64

  package init(mark: LifeMark, previousRun: UInt64) {
    self.mark = mark
    self.previousRun = previousRun
  }

  /// Why the database and what stands beside it do not belong together; nil if they do.
  ///
  /// Every own edit is noted in the record after its commit and before it is sent. So the database
  /// is never behind it, unless somebody put an older one in its place.
  package static func doubt(
    _ record: LifeRecord?, database mark: LifeMark, isSameMachine: Bool, isSameFile: Bool
  ) -> Doubt? {
    guard let record else { return mark.run == 0 ? nil : .unrecorded }
    guard isSameMachine else { return .moved }
    let isKnownRun = mark.run == record.mark.run || mark.run == record.previousRun
    guard mark.origin == record.mark.origin, isKnownRun, mark.seq >= record.mark.seq else {
      return .restored
    }
    return isSameFile ? nil : .replaced
  }
}
