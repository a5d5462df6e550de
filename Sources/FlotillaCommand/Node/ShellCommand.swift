import Flotilla
import Foundation

/// A command of the shell that gets something on its standard input.
struct ShellCommand: Sendable {
  let text: String
  let environment: [String: String]
  /// After so many seconds it is ended, and what it has started; nil: it may go on for ever.
  var limit: Int?

  /// What `timeout` of the coreutils says of a command that it has ended.
  private static let timedOut: Int32 = 124

  /// Runs it and gives its exit status; 128 and the signal if one has ended it.
  ///
  /// What it reads lies in a file without a name: it may read as little or as slowly as it likes.
  func run(input: String) async throws(FlotillaError) -> Int32 {
    let process = Process()
    var words = ["/bin/sh", "-c", text]
    if let limit { words = ["/usr/bin/timeout", "--kill-after=5", "\(limit)"] + words }
    process.executableURL = URL(fileURLWithPath: words.removeFirst())
    process.arguments = words
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    do {
      process.standardInput = try Self.file(holding: input)
      let status = try await withCheckedThrowingContinuation { continuation in
        process.terminationHandler = { process in
          let status = process.terminationStatus
          continuation.resume(
            returning: process.terminationReason == .exit ? status : 128 + status)
        }
        do { try process.run() } catch { continuation.resume(throwing: error) }
      }
      guard let limit, [Self.timedOut, 128 + SIGKILL].contains(status) else { return status }
      throw FlotillaError(.timedOut, "\(text) was ended after \(limit) s")
    } catch let error as FlotillaError {
      throw error
    } catch {
      throw FlotillaError(.system, "cannot run \(text): \(error)")
    }
  }

  private static func file(holding text: String) throws -> FileHandle {
    let path = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString)"
    guard
      FileManager.default.createFile(
        atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
    else { throw CocoaError(.fileWriteUnknown) }
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
  }
}
