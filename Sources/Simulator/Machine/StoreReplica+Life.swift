import Replication
import Store

/// The lives of replicas with files.
extension StoreReplica {
  static let parts = [path, path + "-wal"]

  /// Nothing is under way: what the files hold now is what a backup would have.
  func backUp() {
    backup = [:]
    for part in Self.parts { backup[part] = disk.file(part)?.bytes }
  }

  func putBack() throws -> Bool {
    guard !backup.isEmpty else { return false }
    kill()
    application.die()
    for name in disk.files.keys.sorted() { disk.remove(name, syncsFolder: true) }
    for (name, bytes) in backup { disk.install(bytes, as: name) }
    application = try application.restart(on: disk, random: random.fork())
    application.sharesBadges = true
    hasWritten = true
    let raw = try application.ownOrigin()
    origin = Origin(rawValue: raw)
    witness.beginAnew(try observe(), own: Origin(rawValue: 0), keepsEdits: false)
    return true
  }

  /// The schedule is over: the application may go on in another one.
  func end(_ programs: IdlePrograms) {
    process.fate = nil
    process.failsToRead = nil
    close()
    if let template { programs.keep(application.program, of: template) }
  }

  func copied(as number: Int, _ random: inout Seeded) throws -> StoreReplica {
    application.sharesBadges = true
    return try StoreReplica(copying: self, as: number, &random)
  }

  var lifeMark: LifeMark {
    (try? store().lives.mark) ?? LifeMark(origin: origin, run: 0, seq: 0)
  }

  var life: UInt64 { (try? store().lives.life()) ?? 0 }

  func beginRun(_ run: UInt64) throws {
    mischief.begin()
    try store().lives.begin(run: run)
    runLog = try store().lives.log
  }

  func isContradicted(by reach: Reach) throws -> Bool {
    try store().lives.isContradicted(by: reach)
  }

  func noteDelivered(_ seq: UInt64) throws {
    mischief.begin()
    guard try store().lives.delivered() < seq else { return }
    try store().lives.setDelivered(seq)
  }

  func beginLife(
    _ doubt: Doubt, life: UInt64, run: UInt64, isLate: Bool, renewingTo mark: Mark?,
    at now: Instant, _ history: inout History
  ) throws {
    let store = try begin(now)
    let common = isLate ? try store.lives.commonSeq() : nil
    try store.beginLife(
      doubt, origin: Templates.origin(of: number, life: life), life: life, run: run,
      reissuingAbove: common, renewingTo: mark, at: now)
    (origin, runLog) = (store.own, store.lives.log)
    hasWritten = true
    witness.beginAnew(try observe(), own: origin, keepsEdits: true)
    try inspect(at: now, &history)
  }
}
