import CrashShim
import Glibc
import SQLite
import Store

/// One point: the life up to the call, the deed, and then the judgement.
struct Trial {
  let reference: Reference
  let point: Point
  /// Where the files are.
  let place: String

  /// What came of it.
  struct Verdict {
    /// Whether the deed was done: a life can be a call shorter than it was.
    var struck: Bool
    /// What is wrong, or nil.
    var fault: String?
  }

  /// How often a step that failed is tried again before the process gives up.
  static let tries = 3

  private var life: Reference.LifeRecord { reference.lives[point.life] }

  func run(_ record: UnsafeMutablePointer<crash_record>) throws -> Verdict {
    try Folder.copy(reference.folder.snapshot(life.first), to: place)
    let child = try Child(within: 60) { line in live(line, record) }
    let lines = child.lines()
    let ending = child.ending()
    let struck = record.pointee.struck != 0
    let done = lines.count { $0 == "done" }
    if ending == .killed(SIGKILL) ? !struck : ending != .ended(0) {
      let fault = "the process ended badly (\(ending)): \(lines.suffix(3))"
      return Verdict(struck: struck, fault: fault)
    }
    if let unclear = lines.first(where: { $0.hasPrefix("unclear") }) {
      return Verdict(struck: struck, fault: unclear)
    }
    let isRefused = lines.contains("gave up")
    if !isRefused, done < life.steps.count, !point.deed.isKill {
      return Verdict(struck: struck, fault: "only \(done) steps were done: \(lines.suffix(3))")
    }
    var oracle = Oracle(
      reference: reference, place: place, done: life.first + done,
      isDoubtful: done < life.steps.count)
    if point.deed == .twice, struck {
      oracle.isMended = true
      try cutMending(oracle, record)
    }
    let judge = try Child(within: 60) { line in
      do {
        try oracle.judge()
        line.tell("good")
        return 0
      } catch {
        line.tell("\(error)")
        return 1
      }
    }
    let words = judge.lines().last ?? "\(judge.ending())"
    if words == "good", judge.ending() == .ended(0) { return Verdict(struck: struck, fault: nil) }
    return Verdict(struck: struck, fault: words)
  }

  /// Kills the process that puts things right, at one of its first calls.
  private func cutMending(
    _ oracle: Oracle, _ record: UnsafeMutablePointer<crash_record>
  ) throws {
    let call = 1 + (31 * point.call + 7 * point.life) % 60
    let child = try Child(within: 60) { _ in
      crash_arm(place, call, Deed.before.code, record)
      return (try? oracle.mend(Life(place))) == nil ? 1 : 0
    }
    let ending = child.ending()
    guard ending == .ended(0) || ending == .killed(SIGKILL) else {
      throw CrashFailure("what was to put things right ended with \(ending)")
    }
    record.pointee.struck = 1
  }

  /// The process under test.
  private func live(_ line: Child.Line, _ record: UnsafeMutablePointer<crash_record>) -> Int32 {
    crash_arm(place, point.call, point.deed.code, record)
    let life = Life(place)
    for step in self.life.steps {
      var attempt = 1
      while true {
        do {
          try life.perform(step)
          line.tell("done")
          break
        } catch {
          line.tell("error: \(error)")
          if let unclear = Self.unclear(error) { line.tell("unclear: \(step.text): \(unclear)") }
          guard attempt < Self.tries else {
            line.tell("gave up")
            life.closeAll()
            return 0
          }
          attempt += 1
        }
      }
    }
    return 0
  }

  /// An error that does not tell that the disk failed or is full.
  private static func unclear(_ error: any Error) -> String? {
    let cause = (error as? StoreError)?.cause ?? error as? SQLiteError
    // IOERR, FULL, CANTOPEN.
    if let cause, [10, 13, 14].contains(cause.primary) { return nil }
    return "\(error)"
  }
}
