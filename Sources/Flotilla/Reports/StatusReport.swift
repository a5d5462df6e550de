/// The state of a replica and of what it knows about its peers (`status --json`).
public struct StatusReport: Codable, Sendable, Equatable {
  /// One tracked table.
  public struct Table: Codable, Sendable, Equatable {
    public var name: String
    public var rule: String
    public var acting_rule: String
    public var rows: Int
  }

  /// A table of this file that the site does not replicate, though it tracks one of that name:
  /// nobody here has said that this one is meant.
  public struct AskedTable: Codable, Sendable, Equatable {
    public var table: String
    /// Who tracks it, or null if that is not known here.
    public var by: String?
    /// Rows that it has here, and rows of others that wait for it.
    public var rows: Int
    public var waiting: Int
  }

  /// A first copy that is not complete.
  public struct FirstCopy: Codable, Sendable, Equatable {
    /// The node that it comes from.
    public var from: String
    /// Rows that are here, of about how many, settings included.
    public var rows: Int
    public var of: Int
  }

  public var site: String
  public var node: String
  public var role: String
  /// The name of the anchor, or null.
  public var anchor: String?
  /// How that stands, as `anchor` tells; null if this was not asked.
  public var anchor_state: String?
  public var tables: [Table]
  /// Whether the site takes in new tables by itself, and those here that it has not taken in.
  public var takes_new_tables = false
  public var new_tables: [String] = []
  public var asked_tables: [AskedTable] = []
  public var peers: [PeerReport]
  /// Members that nobody waits for any more and that are away; they are not among the peers.
  public var forgotten_members: Int?
  public var conflicts: Int
  public var parked: Int
  /// Edits that the anchor has not judged yet, also those of others, as far as this node knows.
  public var unjudged: Int
  /// Edits of all members that this file has taken in, its own too: it grows as rows are written.
  public var edits: Int?
  public var in_sync: Bool
  /// What of this node itself keeps it from being in sync: what `peers` does not tell.
  public var not_in_sync: [String] = []
  /// Null once this replica is whole; until then it is not in sync.
  public var first_copy: FirstCopy?
  /// False if no node runs, so that peers are shown as last known.
  public var running: Bool
  /// When somebody has stopped the node with `flotilla stop`, if it was not started since: ISO 8601
  /// in UTC; else null.
  public var stopped: String?
  /// The port that the node listens on; null if none runs.
  public var port: Int?
  /// Set if this node is no member any more, or others say so.
  public var standing: StandingReport?
  /// What keeps this node or programs from the file, or will soon; or null.
  public var trouble: TroubleReport?
  /// The time of the site, as this node knows it.
  public var clock: ClockState?
  /// Remarks for a person: rows that cannot be replicated, tables missing here.
  public var remarks: [String]
  /// The program of the node that was asked, or of the command if none runs, and the newest
  /// protocol version that it speaks; null from one that does not tell.
  public var program: String?
  public var `protocol`: Int?
}

/// What keeps a node or programs from the file: a disk that is full or nearly so, a lock, a lack of
/// permission.
public struct TroubleReport: Codable, Sendable, Equatable {
  /// `read-only`, `disk-full`, `disk-low`, `locked` or `unusable`.
  public var kind: String
  /// ISO 8601 in UTC.
  public var since: String
  /// What is wrong, with the name of the file.
  public var text: String
  public var remedy: String?
}

/// That a node is no member any more, and how it comes back.
public struct StandingReport: Codable, Sendable, Equatable {
  public var text: String
  public var remedy: String

  /// Both in one sentence.
  var remark: String { "\(text); \(remedy)" }
}

/// The peers alone (`peers --json`).
public struct PeersReport: Codable, Sendable, Equatable {
  public var peers: [PeerReport]
}

/// One peer as this node sees it.
public struct PeerReport: Codable, Sendable, Equatable {
  /// How a peer stands to this node.
  public enum State: String, Codable, Sendable {
    case inSync = "in-sync"
    case catchingUp = "catching-up"
    case connecting
    /// It is reached, and no exchange with it succeeds: see `error`.
    case failing
    case away
    case revoked
  }

  public var node: String
  public var id: String
  public var state: State
  /// About how many rows it or this node lacks, and since when.
  public var behind_rows: Int
  public var behind_seconds: Double
  /// How long a catch-up that is under way will take at its pace so far, or null.
  public var seconds_left: Double?
  /// ISO 8601 in UTC, or null if it was never seen.
  public var last_seen: String?
  /// By how much its machine's clock is ahead of the time of the site.
  public var clock_offset_ms: Int
  /// True if what is written there is stamped by the time of the site, whatever its clock says.
  public var clock_corrected = false
  public var address: String?
  /// Why exchanges with it fail, and what helps; null if they do not.
  public var error: String?
  public var remedy: String?
  /// The program that it runs, `0.1.0`, and the newest protocol version that it speaks; null while
  /// it is not connected, the program also if it does not tell.
  public var program: String?
  public var `protocol`: Int?
}
