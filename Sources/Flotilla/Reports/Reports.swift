/// What `init` did. JSON: `{site, node, tables:[…], rows}`.
public struct InitReport: Codable, Sendable, Equatable {
  public var site: String
  public var node: String
  public var tables: [String]
  public var rows: Int
  /// Remarks for a person, for instance about integer keys.
  public var warnings: [String]
  public var takes_new_tables = false
}

/// What `track` or `untrack` changed. JSON: `{tables:[…], rows, warnings:[…],
/// keys:[{table, on_collision, next}]}`.
public struct TrackReport: Codable, Sendable, Equatable {
  /// What becomes of two rows that get one key on two nodes.
  public struct Key: Codable, Sendable, Equatable {
    public var table: String
    /// `rekey`: the later one gets a fresh number; `follow`: it moves with the row whose key its
    /// own holds; `log`: one of them goes to the conflict log.
    public var on_collision: String
    /// The next number that AUTOINCREMENT gives here, once this node has numbers of its own.
    public var next: Int?
  }
  public var tables: [String]
  public var rows: Int
  public var warnings: [String]
  public var keys: [Key] = []
  /// Whether the site takes in new tables by itself from now on.
  public var takes_new_tables = false
}

/// The tables of this file and what becomes of each. JSON: `{takes_new_tables,
/// tables:[{table,kind,state,note}]}`.
public struct TablesReport: Codable, Sendable, Equatable {
  /// One table of the file, or one that the site tracks and that is not in it; `state` is
  /// `replicated`, `missing`, `asked`, `declined`, `new` or `not-replicated`.
  public struct Entry: Codable, Sendable, Equatable {
    public var table: String
    /// `view` or `virtual` of what has no rows of its own; null of a table.
    public var kind: String?
    /// The name under which the site first knew it, where that is another one.
    public var first: String?
    public var state: String
    /// Why that is so, or what to do about it.
    public var note: String?
    /// The number that AUTOINCREMENT gives next on this node, once the site has several.
    public var next: Int?
  }
  public var takes_new_tables: Bool
  public var tables: [Entry]
}

/// The merge rules. JSON: `{rules:[{table,rule,acting_rule}], remark}`.
public struct RuleReport: Codable, Sendable, Equatable {
  /// One table: the rule that was chosen, and the one that acts at present.
  public struct Entry: Codable, Sendable, Equatable {
    public var table: String
    public var rule: String
    public var acting_rule: String

    public init(table: String, rule: String, acting_rule: String) {
      self.table = table
      self.rule = rule
      self.acting_rule = acting_rule
    }
  }
  public var rules: [Entry]
  /// What is not decided, if nobody judges any more; else null.
  public var remark: String?
}

/// An open invitation. JSON: `{code, expires, role}`; `expires` is ISO 8601 in UTC.
public struct InviteReport: Codable, Sendable, Equatable {
  public var code: String
  public var expires: String
  public var role: String
  /// False if no node runs, so that the caller must serve the invitation itself.
  public var served: Bool
  /// The port of the node that serves it; nil if none runs.
  public var port: Int?
  /// Where that node can be dialled, HOST:PORT each; nil if none runs.
  public var addresses: [String]?

  /// Whether no other machine can dial it, because of its `--listen`.
  package var isForThisMachineAlone: Bool {
    let hosts = (addresses ?? []).compactMap { try? ListenAddress($0).host }
    return !hosts.isEmpty && hosts.allSatisfy(ListenAddress.isOfThisMachine)
  }
}

/// Who belongs to the site. JSON: `{site, node, members:[{node, id, role, state, since, last_seen,
/// admitted_by, words, rights, is_this_node, is_anchor, program}]}`.
public struct MembersReport: Codable, Sendable, Equatable {
  /// A node that is or was a member; `state` is `member`, `forgotten`, `revoked` or
  /// `left`.
  public struct Member: Codable, Sendable, Equatable {
    public var node: String
    public var id: String
    public var role: String
    public var state: String
    /// ISO 8601 in UTC, as the next one.
    public var since: String
    public var last_seen: String?
    public var admitted_by: String
    /// The four words that both sides saw when it joined.
    public var words: String?
    /// By table, where they differ from what the role says: `read`, `write` or `none`.
    public var rights: [String: String]
    public var is_this_node: Bool
    public var is_anchor: Bool
    /// The program that it runs, if it is connected and tells.
    public var program: String?
  }
  public var site: String
  public var node: String
  public var members: [Member]
}

/// What a member may do with a table now; a leaf passes nothing on. JSON:
/// `{node, table, right, is_leaf}`.
public struct GrantReport: Codable, Sendable, Equatable {
  public var node: String
  public var table: String
  public var right: String
  public var is_leaf: Bool
}

/// Who was shut out, which connected nodes were told at once, and who is no member any more with
/// it. JSON: `{node,id,told:[…],also:[…],stay_out:[…],stay_limited:[…],was_anchor,undo}`; `undo` is
/// null without `--undo-since`.
public struct RevokeReport: Codable, Sendable, Equatable {
  public var node: String
  public var id: String
  public var told: [String]
  public var also: [String]
  /// Whom a disowned admin had shut out, and whose rights it had taken: both were said anew.
  public var stay_out: [String] = []
  public var stay_limited: [String] = []
  /// True if it was the anchor, so that nobody judges what is written until there is another one.
  public var was_anchor = false
  /// What it wrote since a moment, if that was asked for.
  public var undo: UndoReport?

  public init(node: String, id: String, told: [String], also: [String], wasAnchor: Bool = false) {
    (self.node, self.id, self.told, self.also) = (node, id, told, also)
    was_anchor = wasAnchor
  }
}

/// A member that nobody waits for any more. JSON: `{node,id,last_seen}`.
public struct ForgetReport: Codable, Sendable, Equatable {
  public var node: String
  public var id: String
  /// ISO 8601 in UTC; null if this node never met it.
  public var last_seen: String?
}

/// What `join` copied. JSON: `{site, node, role, from, address, words, rows, bytes, seconds,
/// replaced, warnings}`.
public struct JoinReport: Codable, Sendable, Equatable {
  public var site: String
  public var node: String
  /// What the site lets this node do: `reader`, `writer`, `anchor` or `admin`.
  public var role: String
  public var from: String
  public var address: String
  /// The four words that the inviter shows, too; nil if a first copy only went on.
  public var words: String?
  public var rows: Int
  public var bytes: Int
  public var seconds: Double
  /// Rows of the file that gave way to the site's; they are in the conflict log.
  public var replaced: Int
  public var warnings: [String]
}

/// What a first copy has done so far.
public enum JoinProgress: Sendable, Equatable {
  /// The site was found: its name, the inviting node, its address, and the words that it shows.
  case found(site: String, node: String, address: String, words: String)
  /// The file is a member already, and a first copy that was cut off goes on.
  case resuming(site: String, node: String, address: String)
  /// Rows merged so far, of about how many, and bytes received.
  case copying(rows: Int, of: Int, bytes: Int)
  /// The same of what has changed while the pages of the file came.
  case catchingUp(rows: Int, of: Int, bytes: Int)
  /// No file comes, for this reason, which the inviter may have told: each row comes by itself.
  case goingByRows(reason: String)
}

/// One exchange with each peer. JSON: `{peers:[{node,sent_rows,received_rows,seconds,error}]}`.
public struct SyncReport: Codable, Sendable, Equatable {
  /// What was sent to and received from one peer, or why nothing was.
  public struct Peer: Codable, Sendable, Equatable {
    public var node: String
    public var sent_rows: Int
    public var received_rows: Int
    public var seconds: Double
    public var error: String?
  }
  public var peers: [Peer]

  /// The error of a node that was reached, and not done when the time was over.
  public static let late = "no answer in time"
}

/// Which nodes hold what was committed here. JSON: `{reached:[…], missing:[…], remark}`.
public struct WaitReport: Codable, Sendable, Equatable {
  public var reached: [String]
  public var missing: [String]
  /// Why nobody is named, if it was asked for the anchor and that is this node; else null.
  public var remark: String?
}

/// The rows that a statement gave or touched.
public struct SQLReport: Codable, Sendable, Equatable {
  public var columns: [String]
  public var rows: [[SQLValue]]
  public var changes: Int
  /// True if the statement itself returned rows (SELECT, RETURNING).
  public var returnedRows: Bool
  /// Whether the statement could change nothing; not in the JSON.
  var isQuery = false
  /// The rows of tracked tables that the statement touched, as they are now.
  public var touched: [TouchedRow] = []
  /// The last own edit that was folded before; not in the JSON.
  var before: UInt64 = 0

  private enum CodingKeys: CodingKey { case columns, rows, changes, returnedRows, touched }
}

/// A row that a statement touched; without values if it is gone.
public struct TouchedRow: Codable, Sendable, Equatable {
  public var table: String
  /// The key of the row, by column.
  public var key: [String: SQLValue]
  public var columns: [String]
  public var values: [SQLValue]?

  /// A row with NULL in its key is nobody's but this file's.
  public var isKeyless: Bool { key.values.contains(.null) }
}

/// What `leave` removed. JSON: `{site, node, unsent_rows, open_conflicts, left, told:[…],
/// untold:[…], may_be_copy, loss, parked_rows}`.
public struct LeaveReport: Codable, Sendable, Equatable {
  /// What the members that stay have no more when this node has left.
  public enum Loss: String, Codable, Sendable {
    /// The only site key: nobody can be made an admin any more.
    case siteKey = "site-key"
    /// The only admin: nobody can be invited before somebody brings the site key.
    case lastAdmin = "last-admin"
    /// Both: nobody can be invited any more.
    case siteKeyAndLastAdmin = "site-key-and-last-admin"
  }

  public var site: String
  public var node: String
  /// Rows that no other node has acknowledged.
  public var unsent_rows: Int
  /// Conflicts in the log of this node that were neither restored nor dismissed.
  public var open_conflicts = 0
  public var left: Bool
  /// The members that were told, and those that still count this node as one.
  public var told: [String] = []
  public var untold: [String] = []
  /// Nobody was told, for the members may know another copy of this file as the node.
  public var may_be_copy = false
  public var loss: Loss?
  /// Views and triggers of the application that name what has gone with Flotilla.
  public var broken: [String] = []
  /// Rows that are in no table of this file, if no other node in reach has them.
  public var parked_rows = 0
  /// The site had shut the node out before.
  public var shut_out = false
}

/// What `doctor` found. JSON: `{findings:[{check,level,text,remedy}],size}`.
public struct DoctorReport: Codable, Sendable, Equatable {
  /// How bad a finding is.
  public enum Level: String, Codable, Sendable {
    case ok
    case warning
    case error
  }
  /// One thing that was checked.
  public struct Finding: Codable, Sendable, Equatable {
    public var check: String
    public var level: Level
    public var text: String
    public var remedy: String?

    package init(check: String, level: Level, text: String, remedy: String?) {
      (self.check, self.level, self.text, self.remedy) = (check, level, text, remedy)
    }
  }
  public var findings: [Finding]
  /// What Flotilla takes in the file; nil if it cannot be read.
  public var size: SizeReport?
}
