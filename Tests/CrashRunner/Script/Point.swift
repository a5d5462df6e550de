import CrashShim

/// What happens at the chosen call.
enum Deed: String, CaseIterable {
  case before = "kill-before"
  case after = "kill-after"
  case half = "kill-half"
  /// The process that puts things right after a kill is killed, too.
  case twice = "kill-twice"
  case errorOnce = "eio-once"
  case errors = "eio"
  case fullOnce = "full-once"
  case full = "full"

  var code: Int32 {
    let code: crash_deed =
      switch self {
      case .before, .twice: CRASH_KILL_BEFORE
      case .after: CRASH_KILL_AFTER
      case .half: CRASH_KILL_HALF
      case .errorOnce: CRASH_EIO_ONCE
      case .errors: CRASH_EIO_ON
      case .fullOnce: CRASH_ENOSPC_ONCE
      case .full: CRASH_ENOSPC_ON
      }
    return Int32(code.rawValue)
  }

  var isKill: Bool { [.before, .after, .half, .twice].contains(self) }

  /// Whether it means anything at a call of this name.
  func applies(to call: String) -> Bool {
    let isWrite = call.hasPrefix("write") || call.hasPrefix("pwrite")
    switch self {
    case .half: return isWrite
    case .fullOnce, .full:
      return isWrite || ["fsync", "fdatasync", "open", "mkdir"].contains { call.hasPrefix($0) }
    default: return true
    }
  }
}

/// One place at which the script is cut: `DEED:LIFE:CALL`.
struct Point: CustomStringConvertible {
  var deed: Deed
  var life: Int
  var call: Int

  var description: String { "\(deed.rawValue):\(life):\(call)" }

  init(_ deed: Deed, life: Int, call: Int) {
    (self.deed, self.life, self.call) = (deed, life, call)
  }

  init?(_ text: String) {
    let parts = text.split(separator: ":")
    guard parts.count == 3, let deed = Deed(rawValue: String(parts[0])), let life = Int(parts[1]),
      let call = Int(parts[2])
    else { return nil }
    self.init(deed, life: life, call: call)
  }

  /// Every point of the script, those of one life beside each other.
  static func all(_ reference: Reference) -> [Point] {
    reference.lives.enumerated().flatMap { life, record in
      record.names.enumerated().flatMap { call, name in
        Deed.allCases.filter { $0.applies(to: name) }
          .map { Point($0, life: life, call: call + 1) }
      }
    }
  }
}
