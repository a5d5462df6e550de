/// Why a command line makes no sense, and how to get help about it.
struct UsageError: Error, Equatable {
  let message: String
  let remedy: String

  /// Something is wrong before any command is known.
  init(_ message: String, remedy: String = "`flotilla --help` lists the commands") {
    self.message = message
    self.remedy = remedy
  }

  /// Something is wrong with the arguments of a known command.
  init(_ message: String, in command: Command) {
    self.message = message
    self.remedy = "\(command.usageLines)\n`flotilla \(command.name) --help` explains it"
  }
}
