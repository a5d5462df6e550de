import Flotilla
import Foundation

/// A command of the shell that gets something on its standard input.
struct ShellCommand: Sendable {
  let text: String
  let environment: [String: String]

  /// Runs it and gives its exit status; 128 and the signal if one has ended it.
  ///
  /// What it reads lies in a file without a name: it may read as little or as slowly as it likes.
  func run(input: String) async throws(FlotillaError) -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", text]
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    do {
      process.standardInput = try Self.file(holding: input)
      return try await withCheckedThrowingContinuation { continuation in
        process.terminationHandler = { process in
          let status = process.terminationStatus
          continuation.resume(
            returning: process.terminationReason == .exit ? status : 128 + status)
        }
        do { try process.run() } catch { continuation.resume(throwing: error) }
      }
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
