import CrashShim
import Glibc

/// One place at which a real process is cut off: `DEED:SCENARIO:CALL`.
struct CommandPoint: CustomStringConvertible {
  var deed: Deed
  var scenario: Int
  var call: Int

  var description: String { "\(deed.rawValue):\(Scenario.all[scenario].name):\(call)" }

  init(_ deed: Deed, scenario: Int, call: Int) {
    (self.deed, self.scenario, self.call) = (deed, scenario, call)
  }

  init?(_ text: String) {
    let parts = text.split(separator: ":")
    guard parts.count == 3, let deed = Deed(rawValue: String(parts[0])),
      let scenario = Scenario.all.firstIndex(where: { $0.name == parts[1] }),
      let call = Int(parts[2])
    else { return nil }
    self.init(deed, scenario: scenario, call: call)
  }
}

/// A place of work for real processes: its bases are made once.
final class Bench {
  private let desk: Desk
  private let recordPath: String
  private let record: UnsafeMutablePointer<crash_record>

  init(_ top: String) throws {
    desk = try Desk(top)
    recordPath = top + "/record"
    let file = open(recordPath, O_RDWR | O_CREAT, 0o600)
    let size = MemoryLayout<crash_record>.size
    guard file >= 0, ftruncate(file, off_t(size)) == 0,
      let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
    else { throw CrashFailure("no record") }
    close(file)
    record = memory.bindMemory(to: crash_record.self, capacity: 1)
    try Self.inChild { [desk] in try Self.makeBases(desk) }
  }

  /// Databases are opened in children only: a fork must not inherit a connection.
  private static func inChild(_ body: () throws -> Void) throws {
    let child = try Child(within: 120) { line in
      do {
        try body()
        return 0
      } catch {
        line.tell("\(error)")
        return 1
      }
    }
    let words = child.lines()
    let ending = child.ending()
    guard ending == .ended(0) else { throw CrashFailure(words.last ?? "\(ending)") }
  }

  private static func makeBases(_ desk: Desk) throws {
    func keep(_ base: Scenario.Base) throws {
      try Folder.copy(desk.folder, to: "\(desk.top)/\(base)")
    }
    let errand = Errand(desk)
    try desk.write("a.db", Errand.schema)
    try keep(.plain)
    try desk.flotilla("init", "a.db", "--track", "t", "--name", "a")
    try keep(.single)
    try desk.flotilla("track", "a.db", "--all")
    try errand.startFirst()
    try desk.flotilla(
      "join", "b.db", errand.invite(), "--at", errand.firstAddress, "--name", "b")
    try errand.stopAll()
    try keep(.pair)
  }

  /// The calls that the victim makes undisturbed.
  func names(_ scenario: Int) throws -> [String] {
    let verdict = try run(scenario, at: 0, nil)
    if let fault = verdict.fault { throw CrashFailure("undisturbed: \(fault)") }
    return Reference.names(record)
  }

  func run(_ point: CommandPoint) throws -> Trial.Verdict {
    try run(point.scenario, at: point.call, point.deed)
  }

  private func run(_ number: Int, at call: Int, _ deed: Deed?) throws -> Trial.Verdict {
    let scenario = Scenario.all[number]
    try Folder.copy("\(desk.top)/\(scenario.base)", to: desk.folder)
    (record.pointee.struck, record.pointee.count) = (0, 0)
    do {
      try Self.inChild { [desk, record, recordPath] in
        let errand = Errand(desk)
        let ending = try errand.cut(scenario, at: call, deed, recordPath)
        let struck = record.pointee.struck != 0
        let text = errand.victim?.text ?? ""
        try Self.check(ending, text, struck: struck, deed)
        try scenario.recover(errand)
        try errand.stopAll()
        try errand.judge()
      }
    } catch {
      return Trial.Verdict(struck: record.pointee.struck != 0, fault: "\(error)")
    }
    return Trial.Verdict(struck: record.pointee.struck != 0, fault: nil)
  }

  /// Killed by us, or done, or ended with a clear word about the disk.
  private static func check(
    _ ending: Child.Ending, _ text: String, struck: Bool, _ deed: Deed?
  ) throws {
    switch ending {
    case .killed(SIGKILL) where struck: return
    case .ended(0): return
    case .ended(let status) where struck && status < 4 && deed?.isKill == false:
      let words = ["disk", "Input/output error", "No space", "cannot be opened", "cannot write"]
      if words.contains(where: text.contains) { return }
      throw CrashFailure("an unclear error, status \(status): \(text)")
    default: throw CrashFailure("the process ended with \(ending): \(text)")
    }
  }
}
