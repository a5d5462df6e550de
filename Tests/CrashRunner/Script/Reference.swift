import CrashShim
import Glibc

/// The script once, undisturbed: what the files look like after each step, and the calls made.
struct Reference {
  /// One life: the number of its first step and the calls after each step.
  struct LifeRecord {
    var first: Int
    var steps: [Step]
    /// Calls made when step i was done; the last one counts the whole life, its end included.
    var calls: [Int] = []
    /// What each call was, for a person.
    var names: [String] = []
  }

  private(set) var lives: [LifeRecord] = []
  let folder: Folder

  /// Every step of the script.
  var steps: [Step] { lives.flatMap(\.steps) }

  /// Runs the script and keeps a snapshot before each step and after the last.
  init(_ folder: Folder, script: [[Step]]) throws {
    self.folder = folder
    guard let record = crash_shared_record() else { throw CrashFailure("no memory") }
    defer { munmap(record, MemoryLayout<crash_record>.size) }
    let place = folder.workplace(0)
    for path in [place, "\(place)/a", "\(place)/b"] { mkdir(path, 0o700) }
    try Folder.copy(place, to: folder.snapshot(0))
    var first = 0
    for steps in script {
      try run(steps, first: first, in: place, record)
      first += steps.count
    }
  }

  private mutating func run(
    _ steps: [Step], first: Int, in place: String, _ record: UnsafeMutablePointer<crash_record>
  ) throws {
    var life = LifeRecord(first: first, steps: steps)
    let child = try Child(within: 60) { line in
      crash_arm(place, 0, 0, record)
      let life = Life(place)
      do {
        for step in steps {
          try life.perform(step)
          line.tell("done")
          line.wait()
        }
        return 0
      } catch {
        line.tell("\(error)")
        return 1
      }
    }
    for (index, step) in steps.enumerated() {
      let line = child.line()
      guard line == "done" else {
        throw CrashFailure("undisturbed, \(step.text): \(line ?? "no answer")")
      }
      life.calls.append(record.pointee.count)
      try Folder.copy(place, to: folder.snapshot(first + index + 1))
      child.goOn()
    }
    guard child.ending() == .ended(0) else { throw CrashFailure("a life did not end well") }
    life.names = Self.names(record)
    lives.append(life)
  }

  static func names(_ record: UnsafeMutablePointer<crash_record>) -> [String] {
    (0..<min(record.pointee.count, Int(CRASH_CALLS))).map { index in
      let path = String(cString: crash_path(record, index))
      return String(cString: crash_name(record, index)) + " "
        + path.split(separator: "/").suffix(2).joined(separator: "/")
    }
  }
}
