import Replication
import SQLite
import Store

/// The database and the records beside it, which together say in which life a node writes.
///
/// What stands in both tells whether the database was restored or copied since. They are compared
/// before anything is written (docs/lives.md).
struct LifeFiles {
  let store: StoreActor
  let sidecar: Sidecar
  let keys: NodeKeys

  /// Compares them. With a run this node begins it, and may send what it writes; if there is a
  /// doubt it begins a life. False if the run is yet to be noted in the file, for another program
  /// has the lock; a node for one command fails then.
  func settle(
    run: UInt64?, isLasting: Bool, within timeout: Duration?, _ log: @Sendable (String) -> Void
  ) async throws(FlotillaError) -> Bool {
    let mark = try await reporting(sidecar.database) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in store.lives.mark }
    }
    var isNoted = true
    let noted = LedgerFile.read(sidecar.ledgerPath)
    var beside = try sidecar.record()
    let before = beside
    let (machine, file) = (Machine.present(), Sidecar.FileMark(path: sidecar.database))
    let doubt = LifeRecord.doubt(
      noted, database: mark, isSameMachine: beside.machine?.isSame(as: machine) ?? true,
      isSameFile: beside.file?.isSame(as: file) ?? true)
    if let doubt {
      let (life, run) = (UInt64.random(in: 0 ... .max), run ?? .random(in: 0 ... .max))
      try await begin(life, run: run, doubt, above: nil)
      log(doubt.lifeSentence)
    } else if let run {
      // Noted beside the file first: until the file has heard of it, its last run is as good.
      let next = LifeMark(origin: mark.origin, run: run, seq: mark.seq)
      try await open(LifeRecord(mark: next, previousRun: mark.run))
      isNoted = try await begin(run, isLasting: isLasting, within: timeout)
    } else if let noted {
      try await open(noted)
    }
    guard doubt != nil || run != nil else { return isNoted }
    (beside.machine, beside.file) = (machine, file)
    if beside != before { try sidecar.save(beside) }
    return isNoted
  }

  private func begin(
    _ run: UInt64, isLasting: Bool, within timeout: Duration?
  ) async throws(FlotillaError) -> Bool {
    await store.begin(run: run)
    let deadline = timeout.map { Uptime.now + $0.milliseconds } ?? .max
    do {
      try await store.patiently(until: deadline) { (_) throws(StoreError) in }
      return true
    } catch {
      guard isLasting, error.cause?.isBusy == true else {
        throw FlotillaError(error, path: sidecar.database)
      }
      return false
    }
  }

  /// Begins a life in the file, then notes it beside the file: after a kill in between there would
  /// be one more.
  func begin(
    _ life: UInt64, run: UInt64, _ doubt: Doubt, above common: UInt64?,
    renewingTo mark: Replication.Mark? = nil
  ) async throws(FlotillaError) {
    let origin = Origin.of(keys.identity, life: life, .openSSL)
    let told = LedgerFile.read(sidecar.ledgerPath)?.mark.seq ?? 0
    let mark = try await reporting(sidecar.database) { () async throws(StoreError) in
      try await store.patiently { (store) throws(StoreError) in
        try store.beginLife(
          doubt, origin: origin, life: life, run: run, reissuingAbove: common,
          countingFrom: told, renewingTo: mark, at: .now)
        return store.lives.mark
      }
    }
    try await open(LifeRecord(mark: mark, previousRun: run))
  }

  private func open(_ record: LifeRecord) async throws(FlotillaError) {
    let path = sidecar.ledgerPath
    try await reporting(sidecar.database) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        do throws(FlotillaError) {
          store.lives.ledger = try LedgerFile(path: path, record: record)
        } catch {
          throw StoreError(.ledger, error.message, remedy: error.remedy)
        }
      }
    }
  }
}

extension Doubt {
  /// What is said when a life has begun.
  var lifeSentence: String {
    "\(sentence): edits made here go on under a new origin, and nothing that others have is lost"
  }
}

extension StoreError.Code {
  /// What belongs beside the file cannot be written.
  static let ledger = StoreError.Code("ledger")
}
