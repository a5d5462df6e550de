/// What the mirror says of itself, in a file that `mirror DB status` reads.
struct MirrorState: Codable, Sendable, Equatable {
  /// What it is doing.
  enum Phase: String, Codable, Sendable {
    /// On its way to the server, or it cannot get there. Next: comparing, following, stopped.
    case connecting
    /// Looks at every row of both sides. Next: following, connecting.
    case comparing
    /// Next: comparing, connecting, stopped.
    case following
    /// Somebody else has the place, or the settings are paused. Next: connecting.
    case stopped
  }

  /// A table that is not mirrored at present.
  struct Stopped: Codable, Sendable, Equatable {
    var table: String
    var reason: String
  }

  /// A row that does not go over.
  struct Held: Codable, Sendable, Equatable {
    var table: String
    var key: String
    /// `out` if the server does not take the site's row, `in` if it is the other way.
    var direction: String
    var reason: String
    /// In ms since 1970.
    var at: Int64
  }

  /// How far the server was when it was last heard of.
  struct Contact: Codable, Sendable, Equatable {
    var number: Int64
    /// By the server's clock, in µs since 1970.
    var at: Int64
  }

  var phase = Phase.connecting
  /// In ms since 1970, by this machine's clock, as the others.
  var since: Int64 = 0
  var written: Int64 = 0
  var process: Int32 = 0
  var server = ""
  /// What is in the way, in words.
  var trouble: String?
  var troubleSince: Int64?
  var retries = 0
  /// Rows that have gone out and come in since the process began.
  var sent = 0
  var taken = 0
  /// Changes that have not gone out, as far as it is known, and since when.
  var behind = 0
  var behindSince: Int64?
  /// Whether the journals of the server hold more than was read of them so far.
  var takesIn: Bool?
  /// Up to where the change feed has gone out.
  var place: String?
  var tables: [String] = []
  /// What the mirrored tables are called here by now, and how the site called them first, by
  /// number.
  var names: [Int: String]?
  var firsts: [Int: String]?
  var stopped: [Stopped] = []
  var heldCount = 0
  /// The latest of them.
  var held: [Held] = []
  /// The ones that have waited longest of those that cannot go out at present.
  var owed: [Held]?
  var contact: Contact?
  /// What stands for a table of the server as it was when it was compared, by its number.
  var shapes: [Int: String]?
  var columns: [Int: Columns]?
  /// The tables of which all rows were compared once.
  var filled: [Int]?
  /// Which comparison was the last that ended, when, and what it found.
  var comparison = 0
  var compared: Int64?
  var rowsCompared = 0
  var differences = 0
  /// How many rows were looked at in the comparison that goes on.
  var progress = 0
}
