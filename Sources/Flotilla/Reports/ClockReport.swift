/// The time of the site as a node sees it (`clock --json`). JSON: `{clock:{…}, peers:[{node,
/// clock_offset_ms, corrected}], repaired}`.
public struct ClockReport: Codable, Sendable, Equatable {
  /// A connected node, and by how much its machine's clock is ahead of the time of the site.
  public struct Peer: Codable, Sendable, Equatable {
    public var node: String
    public var clock_offset_ms: Int
    /// True if what is written there is stamped by the time of the site.
    public var corrected: Bool
  }

  public var clock: ClockState
  public var peers: [Peer]
  /// Rows that were written again because their stamps were from the future.
  public var repaired: Int
}

/// What a node knows of the time of the site. JSON: `{site_time, clock_offset_ms, founding, source,
/// good, waiting, future}`.
public struct ClockState: Codable, Sendable, Equatable {
  /// ISO 8601 in UTC; null while it is not known since the machine was started.
  public var site_time: String?
  /// By how much this machine's clock is ahead; null while that is not known.
  public var clock_offset_ms: Int?
  /// Names the founding: nodes that show the same one mean the same time.
  public var founding: String?
  /// What stood behind it: `person`, `clock`, or `memory` (the last time known, alone).
  public var source: String?
  /// Whether a person has said that this machine's clock is to be believed.
  public var good = false
  /// Edits that wait until the time of the site is known.
  public var waiting = 0
  /// Versions whose stamps are more than ten minutes ahead of the time of the site.
  public var future = 0
}
