import Glibc
import SQLite
import Store

/// What must hold after a kill: both files sound, nothing half, nothing lost, equal in the end.
struct Oracle {
  let reference: Reference
  let place: String
  /// So many steps were told to be done.
  let done: Int
  /// Whether the next step was begun.
  let isDoubtful: Bool
  /// Whether another process was at work since: then rows of the other side may be there already.
  var isMended = false

  private var next: Step? { isDoubtful ? reference.steps[done] : nil }

  func judge() throws {
    try checkFiles()
    if !isMended { try checkWhole() }
    let life = Life(place, pace: Pace())
    try mend(life)
    try checkOutcome(life)
    try Settlement(life).probe()
    try Settlement(life).checkBooks()
  }

  /// What a person and the nodes do after a kill.
  func mend(_ life: Life) throws {
    if let next, next.isRepeated { try again(next, life) }
    try Settlement(life).settle()
  }

  private func checkFiles() throws {
    for side in Side.allCases {
      let connection = try Connection(path: "\(place)/\(side)/test.db", mode: .create)
      for row in try connection.rows("PRAGMA integrity_check") where row[0].string != "ok" {
        throw CrashFailure("\(side): integrity_check: \(row[0].string ?? "")")
      }
    }
  }

  /// The files before anything was mended: just as before the step, or as after it.
  private func checkWhole() throws {
    for side in Side.allCases {
      let content = try Content(path: "\(place)/\(side)/test.db")
      let before = try Snapshots(reference).content(done, side)
      guard next != nil else {
        if let difference = content.difference(from: before) {
          throw CrashFailure("\(side) after the last step: \(difference)")
        }
        continue
      }
      let after = try Snapshots(reference).content(done + 1, side)
      if content == before || content == after { continue }
      guard next?.isWhole == false, content.isBetween(before, after) else {
        throw CrashFailure(
          "\(side) is half: \(content.difference(from: before) ?? "") / "
            + (content.difference(from: after) ?? ""))
      }
    }
  }

  /// A person gives the command again, if it has not been carried out.
  private func again(_ step: Step, _ life: Life) throws {
    switch step {
    case .initialise(let side, _):
      if try !life.isReplica(side) { try life.perform(step) }
    case .leave(let side):
      if try life.isReplica(side) { try life.perform(step) }
    default: try life.perform(step)
    }
  }

  /// What both settle on is what they would have settled on undisturbed.
  private func checkOutcome(_ life: Life) throws {
    let isSure = next == nil || next?.isRepeated == true
    let wanted = isSure && next != nil ? [done + 1] : isDoubtful ? [done, done + 1] : [done]
    var differences: [String] = []
    for index in wanted {
      var difference: String?
      for side in Side.allCases where difference == nil {
        difference = try Content(path: life.path(side))
          .difference(from: Snapshots(reference).settled(index, side))
          .map { "\(side): \($0)" }
      }
      guard let difference else { return }
      differences.append("against step \(index): \(difference)")
    }
    throw CrashFailure("something was lost or made up: " + differences.joined(separator: "; "))
  }
}

/// What the undisturbed files hold, and what they settle on; worked out once in each process.
struct Snapshots {
  private let reference: Reference

  init(_ reference: Reference) { self.reference = reference }

  func content(_ index: Int, _ side: Side) throws -> Content {
    let copy = "\(reference.folder.path)/c\(index)"
    try prepare(copy, index) { _ in }
    return try Content(path: "\(copy)/\(side)/test.db")
  }

  func settled(_ index: Int, _ side: Side) throws -> Content {
    let copy = "\(reference.folder.path)/d\(index)"
    try prepare(copy, index) { try Settlement($0).settle() }
    return try Content(path: "\(copy)/\(side)/test.db")
  }

  /// Makes a copy of a snapshot at `copy` unless it is there, ready in one move.
  private func prepare(_ copy: String, _ index: Int, _ work: (Life) throws -> Void) throws {
    if !Folder.names(copy).isEmpty { return }
    let draft = "\(copy)-\(getpid())"
    try Folder.copy(reference.folder.snapshot(index), to: draft)
    let life = Life(draft, pace: Pace())
    for side in Side.allCases { _ = try life.application(side).rows("PRAGMA schema_version") }
    try work(life)
    life.closeAll()
    // Another process may have been faster.
    if rename(draft, copy) != 0 { Folder.remove(draft) }
  }
}
