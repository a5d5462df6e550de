import Flotilla
import FoundationEssentials
import Glibc

/// Everything a command needs: its arguments, where its words go and what time it is.
struct Call: Sendable {
  let arguments: Arguments
  let output: Output

  /// The path of the database, as given.
  var path: String { arguments.text("DB") ?? "" }
  var replica: Replica { Replica(path: path) }
  /// The path as a word that can be pasted into a shell.
  var shellPath: String { shellWord(path) }
  var json: Bool { arguments.has("--json") }

  /// Prints the result of the command: one JSON object with `--json`, otherwise text.
  func print(_ report: some Encodable & Sendable, as text: @autoclosure () -> String) {
    if json { output.data(JSON(reflecting: report).description) } else { output.result(text()) }
  }
}

extension Program {
  /// Does what the words after the program's name ask for and returns the exit status.
  func run(_ words: [String], output: Output) async -> ExitStatus {
    do throws(UsageError) {
      switch try request(from: words) {
      case .help(nil): output.write(help)
      case .help(let command?): output.write(command.help)
      case .topic(let topic, let command):
        output.write((command.map { $0.help + "\n" } ?? "") + topic.help + "\n")
      case .version: output.result("\(name) \(version)")
      case .call(let command, let arguments):
        return await run(command, Call(arguments: arguments, output: output))
      case .completion(let words): await Completion(of: self).answer(to: words, output)
      case .manual(let folder): return Manual(of: self).write(into: folder, output)
      }
      return .done
    } catch {
      output.failure(error.message, remedy: error.remedy)
      return .usage
    }
  }

  private func run(_ command: Command, _ call: Call) async -> ExitStatus {
    do throws(FlotillaError) {
      return try await command.body(call)
    } catch {
      call.output.failure(error.message, remedy: error.remedy)
      return ExitStatus(of: error)
    }
  }
}

extension ExitStatus {
  /// Scripts tell a thing that may yet happen (3) from one that went wrong (1).
  init(of error: FlotillaError) {
    self =
      switch error.code {
      case .timedOut: .notInSync
      case .usage: .usage
      default: .failed
      }
  }
}
