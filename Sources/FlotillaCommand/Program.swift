import Flotilla

/// The program as data: its name, its version and its commands in the order of a site's life.
struct Program: Sendable {
  let name: String
  let version: String
  /// When this version was begun, as pages of the manual are dated.
  let day: String
  let discussion: String
  let commands: [Command]
  /// Commands whose names are taken, but which this version does not have.
  let laterCommands: Set<String>

  static let flotilla = Program(
    name: "flotilla",
    version: ProgramVersion.current,
    day: "2026-11-01",
    discussion: """
      Keeps SQLite databases equal on every machine of a LAN, without a server and
      without the internet. Programs go on using the file as they always did.
      """,
    commands: [
      Init.command, Join.command, Invite.command, Run.command, Stop.command, Status.command,
      Peers.command, Sync.command, Wait.command, SQL.command, Track.command, Untrack.command,
      Rule.command, Anchor.command, Conflicts.command, Changes.command, Members.command,
      Grant.command,
      Revoke.command, Forget.command, Token.command, MirrorCommand.command, SiteKey.export,
      SiteKey.import,
      SiteTime.command, Schema.command, Verify.command, Doctor.command, Service.command,
      Replicas.command, Completions.command, Leave.command,
    ],
    laterCommands: [])
}

/// The exit status of the program, a contract with scripts.
enum ExitStatus: Int32, Sendable, CaseIterable {
  case done = 0
  case failed = 1
  case usage = 2
  case notInSync = 3
  case rejected = 4

  var meaning: String {
    switch self {
    case .done: "done, or in sync"
    case .failed: "failed, or it cannot be done"
    case .usage: "wrong usage: the words make no sense"
    case .notInSync: "not (yet) in sync, or timed out waiting"
    case .rejected: "the anchor rejected the edit"
    }
  }

  /// Whether each command has it, whatever it does.
  var isOfAll: Bool { self == .done || self == .failed || self == .usage }
}

extension Command {
  /// The exit statuses that it may end with, and what each means; the manual and the help have them
  /// from here.
  var exits: [(status: ExitStatus, meaning: String)] {
    ExitStatus.allCases.compactMap { status in
      if let meaning = statuses[status] { return (status, meaning) }
      return status.isOfAll ? (status, status == .done ? "done" : status.meaning) : nil
    }
  }
}
