import FoundationEssentials

/// How far a long work has come. JSON: `{work, rows, of}`.
public struct WorkProgress: Codable, Sendable, Equatable {
  /// What is done.
  public enum Work: String, Codable, Sendable {
    /// Rows that are in the tables of the file get versions.
    case takingIn = "taking-in"
    /// Rows are compared with what the node has noted of them.
    case looking
    /// Rows are compared with those of other nodes; how many nobody knows before.
    case comparing
  }

  public var work: Work
  /// Rows that are done, of about how many.
  public var rows: Int
  public var of: Int
}

extension WorkProgress {
  typealias Listener = @Sendable (WorkProgress) -> Void

  /// Who wants to know how far the work has come that this task does.
  @TaskLocal static var listener: Listener?

  static func tell(_ work: Work, _ rows: Int = 0, of total: Int = 0) {
    listener?(WorkProgress(work: work, rows: min(rows, total), of: total))
  }

  /// Does `body`, and tells `listener` how far it has come.
  static func told<Result>(
    to listener: Listener?, isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws(FlotillaError) -> Result
  ) async throws(FlotillaError) -> Result {
    let result: Swift.Result<Result, FlotillaError> = await $listener.withValue(listener) {
      do throws(FlotillaError) {
        return .success(try await body())
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// One line for a control socket.
  var line: [UInt8]? {
    guard let data = try? JSONEncoder().encode(self) else { return nil }
    return [UInt8](data) + [0x0A]
  }

  init?(line: some Sequence<UInt8>) {
    guard let progress = try? JSONDecoder().decode(Self.self, from: Data(line)) else {
      return nil
    }
    self = progress
  }
}
