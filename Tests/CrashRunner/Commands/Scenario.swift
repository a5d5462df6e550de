import Glibc

/// One use of the real program, of which one process is cut off.
struct Scenario: Sendable {
  enum Base: String {
    /// A database that nobody replicates.
    case plain
    /// A replica that tracks one table of two.
    case single
    /// Two replicas that hold the same.
    case pair
  }

  let name: String
  let base: Base
  /// The program that is cut off.
  var program = "flotilla"
  /// What runs beside the victim, and the victim's words.
  let prepare: @Sendable (Errand) throws -> [String]
  /// What happens while the victim lives; by itself it only waits for the end.
  var during: @Sendable (Errand) throws -> Void = { _ in }
  /// What a person does next; then both must be equal.
  let recover: @Sendable (Errand) throws -> Void

  static let all: [Scenario] = [
    initialise, track, untrack, join, joinWithRows, inviter, sync, leave, leaveRunning, running,
    server, migration, library,
  ]

  /// Whether the victim goes on until it is asked to end.
  var isLasting: Bool { Self.lasting.contains(name) }
  private static let lasting: Set = ["inviter", "run", "server", "migration", "library"]

  static let initialise = Scenario(
    name: "init", base: .plain,
    prepare: { _ in ["init", "a.db", "--all", "--name", "a"] },
    recover: { errand in
      let words = try errand.desk.flotilla("init", "a.db", "--all", "--name", "a", good: [0, 1])
      if words.contains("is a replica already") {
        try errand.desk.flotilla("track", "a.db", "--all")
      }
      try errand.joinSecond()
    })

  static let track = Scenario(
    name: "track", base: .single,
    prepare: { _ in ["track", "a.db", "--all"] },
    recover: { errand in
      try errand.desk.flotilla("track", "a.db", "--all")
      try errand.joinSecond()
    })

  static let untrack = Scenario(
    name: "untrack", base: .pair,
    prepare: { _ in ["untrack", "a.db", "u"] },
    recover: { errand in
      try errand.desk.flotilla("untrack", "a.db", "u", good: [0, 1])
      try errand.editBoth()
      try errand.startBoth()
      try errand.awaitEqual()
      for name in ["a.db", "b.db"] where try errand.isTracked("u", name) {
        throw CrashFailure("\(name) still tracks u")
      }
    })

  static let join = Scenario(
    name: "join", base: .single,
    prepare: { errand in
      try errand.desk.flotilla("track", "a.db", "--all")
      try errand.startFirst()
      return ["join", "b.db", try errand.invite(), "--at", errand.firstAddress, "--name", "b"]
    },
    recover: { errand in try errand.joinSecond() })

  static let joinWithRows = Scenario(
    name: "join-with-rows", base: .single,
    prepare: { errand in
      try errand.giveSecondRows()
      return try join.prepare(errand)
    },
    recover: { errand in try errand.joinSecond() })

  static let inviter = Scenario(
    name: "inviter", base: .single,
    prepare: { errand in
      try errand.desk.flotilla("track", "a.db", "--all")
      return errand.firstWords
    },
    during: { errand in
      guard let victim = errand.victim, errand.desk.serves(victim) else { return }
      let code = try errand.desk.start(["invite", "a.db"])
      guard code.wait() == .ended(0), let word = code.text.split(separator: "\n").first else {
        return
      }
      let words = ["join", "b.db", String(word), "--at", errand.firstAddress, "--name", "b"]
      let join = try errand.desk.start(words)
      // It would try for half a minute to reach one who is dead.
      while !join.hasEnded() {
        usleep(10_000)
        if victim.hasEnded() {
          usleep(300_000)
          kill(join.process, SIGKILL)
          break
        }
      }
    },
    recover: { errand in try errand.joinSecond() })

  static let sync = Scenario(
    name: "sync", base: .pair,
    prepare: { errand in
      try errand.editBoth()
      try errand.startFirst()
      return ["sync", "b.db", errand.firstAddress]
    },
    recover: { errand in
      try errand.desk.flotilla("sync", "b.db", errand.firstAddress)
      try errand.awaitEqual()
    })

  static let leave = Scenario(
    name: "leave", base: .pair,
    prepare: { errand in
      try errand.startFirst()
      return ["leave", "b.db", "--force"]
    },
    recover: { errand in
      while try errand.desk.isReplica("b.db") {
        try errand.desk.flotilla("leave", "b.db", "--force")
      }
      guard try errand.desk.content("b.db") == errand.desk.content("a.db") else {
        throw CrashFailure("leaving changed rows")
      }
      try errand.joinSecond()
    })

  static let leaveRunning = Scenario(
    name: "leave-running", base: .pair,
    prepare: { errand in
      try errand.startBoth()
      try errand.editBoth()
      try errand.awaitEqual()
      return ["leave", "b.db", "--force"]
    },
    recover: leave.recover)

  static let running = Scenario(
    name: "run", base: .pair,
    prepare: { errand in
      try errand.startFirst()
      return errand.secondWords
    },
    during: { errand in try errand.editBesideVictim("b.db") },
    recover: { errand in
      try errand.editBoth()
      try errand.startSecond()
      try errand.awaitEqual()
    })

  static let server = Scenario(
    name: "server", base: .pair,
    prepare: { errand in
      try errand.editBoth()
      return errand.firstWords
    },
    during: { errand in
      guard let victim = errand.victim, errand.desk.serves(victim) else { return }
      try errand.startSecond()
      try errand.editBesideVictim("a.db")
    },
    recover: { errand in
      try errand.editBoth()
      try errand.startBoth()
      try errand.awaitEqual()
    })

  static let migration = Scenario(
    name: "migration", base: .pair,
    prepare: { errand in
      try errand.startFirst()
      return errand.secondWords
    },
    during: { errand in try errand.migrateBesideVictim() },
    recover: { errand in
      try errand.finishMigration()
      try errand.editBoth()
      try errand.startSecond()
      try errand.awaitEqual()
    })

  static let library = Scenario(
    name: "library", base: .pair, program: "CrashProgram",
    prepare: { errand in
      try errand.appointFirst()
      return errand.programWords
    },
    during: { errand in try errand.writeBesideProgram() },
    recover: { errand in try errand.finishProgram() })
}
