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
    /// Rows go to other nodes and come from them.
    case exchanging
    /// Parked rows are put back or given up.
    case settling
  }

  public var work: Work
  /// Rows that are done, of about how many.
  public var rows: Int
  public var of: Int
}

extension WorkProgress {
  /// Whoever wants to know how far a work has come.
  typealias Listener = @Sendable (WorkProgress) -> Void

  init(_ work: Work, _ rows: Int = 0, of total: Int = 0) {
    (self.work, self.rows, self.of) = (work, min(rows, total), total)
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
