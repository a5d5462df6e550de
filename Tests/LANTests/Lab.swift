import Foundation

/// A LAN of real processes in one machine, made by scripts/lan.sh; gone when the work is done.
///
/// Each host has an address, a home folder, a D-Bus and an Avahi daemon of its own.
struct Lab: Sendable {
  /// The lab's folder, outside of all hosts.
  let folder: String
  let hosts: [Host]

  static let top = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path
  static let script = "\(top)/scripts/lan.sh"

  /// Where `flotilla` is: optimised, as it is installed, if the tests are told where that lies, or
  /// else beside the tests.
  static let programs =
    ProcessInfo.processInfo.environment["FLOTILLA_RELEASE"]
    ?? URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path

  /// Why this machine can hold no lab, or nil if it can. Asked once.
  static let obstacle: String? = {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: script)
    process.arguments = ["can"]
    process.standardOutput = output
    guard (try? process.run()) != nil else { return "scripts/lan.sh cannot be started" }
    let reason = (try? output.fileHandleForReading.readToEnd()) ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus != 0 else { return nil }
    return String(decoding: reason, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }()

  /// Makes a lab, lets `body` work in it, and takes it down whatever happens.
  ///
  /// The lab also ends with this process, so a crash of the tests leaves nothing behind.
  static func with(hosts count: Int, _ body: (Lab) async throws -> Void) async throws {
    let owner = "\(ProcessInfo.processInfo.processIdentifier)"
    let folder = try await Program(script, ["up", "\(count)", owner]).succeed().output
    let lab = Lab(folder: folder, hosts: (1...count).map { Host(number: $0, lab: folder) })
    do {
      try await body(lab)
    } catch {
      try? await lab.command("down")
      throw error
    }
    try await lab.command("down")
  }

  /// Runs a command of lan.sh on this lab.
  func command(_ arguments: String...) async throws {
    try await Program(Self.script, arguments, environment: ["FLOTILLA_LAB": folder]).succeed()
  }

  /// Pulls the host's cable. Nobody is told.
  func cut(_ host: Host) async throws { try await command("cut", "\(host.number)") }

  /// Puts the cable back.
  func heal(_ host: Host) async throws { try await command("heal", "\(host.number)") }

  /// Stops and starts the host's Avahi daemon.
  func restartAvahi(_ host: Host) async throws {
    try await command("restart-avahi", "\(host.number)")
  }
}

/// One host of a lab.
struct Host: Sendable {
  /// From 1.
  let number: Int
  /// The lab's folder.
  let lab: String

  var address: String { "10.77.0.\(number)" }
  var home: String { "\(lab)/h\(number)/home" }

  /// Runs a program on this host, in its home folder, and ends it if it takes too long.
  func run(
    _ program: String, _ arguments: String..., within limit: Duration = .seconds(30)
  ) async throws -> Outcome {
    try await command(program, arguments, limit).run()
  }

  /// The same, but anything else than exit status 0 is thrown; gives the trimmed output.
  @discardableResult
  func succeed(
    _ program: String, _ arguments: String..., within limit: Duration = .seconds(30)
  ) async throws -> String {
    try await command(program, arguments, limit).succeed().output
  }

  /// Whether a packet to the other host's port 9, where nobody listens, is answered at all.
  func reaches(_ other: Host) async throws -> Bool {
    let knock = "exec 3<>/dev/tcp/\(other.address)/9"
    return try await run("bash", "-c", knock, within: .seconds(1)).error.contains("refused")
  }

  private func command(_ program: String, _ arguments: [String], _ limit: Duration) -> Program {
    let seconds = "\(limit.components.seconds)"
    return Program(
      Lab.script,
      ["exec", "\(number)", "timeout", "-k", "2", seconds, program] + arguments,
      environment: ["FLOTILLA_LAB": lab, "FLOTILLA_BIN": Lab.programs])
  }
}
