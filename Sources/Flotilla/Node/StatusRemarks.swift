import Replication
import SQLite
import Store

/// What a person should know beside the figures of `status`, in words.
///
/// A pure value: it knows how this node is called and what it may do, and is told what was found.
/// Each remark says what is the case, and which command helps.
struct StatusRemarks: Sendable {
  /// The database, and the node, as a person names them.
  let path: String
  let node: String
  /// A node runs, and not only for one command.
  let isRunning: Bool
  /// No node runs.
  let isOffline: Bool
  /// The time of the site is known.
  let isPlaced: Bool
  /// This node may read and write every table.
  let isWhole: Bool

  /// What there is to say of tables and edits.
  func remarks(
    _ figures: StoreFigures, _ waiting: [WaitingTable], _ new: [UntrackedTable]
  ) -> [String] {
    var remarks: [String] = []
    if isRunning, let remark = ProgramFile.remark(ProgramFile.fate(), path) {
      remarks.append(remark)
    }
    remarks += waiting.map(remark)
    remarks += new.compactMap(remark)
    for table in figures.tables where table.rowsWithoutKey > 0 {
      remarks.append(
        table.rowsWithoutKey == 1
          ? "1 row of \(table.name) has NULL in its key and stays here"
          : "\(thousands(table.rowsWithoutKey)) rows of \(table.name) have NULL in their key and "
            + "stay here")
    }
    if let trouble = figures.derivedTrouble {
      remarks.append(
        "a trigger that keeps an index or a cache failed (\(trouble)); what it keeps is stale here")
    }
    // Where they wait for the time of the site, another remark says so.
    if figures.unfolded > 0, isOffline, isPlaced {
      remarks.append(
        figures.unfolded == 1
          ? "1 edit waits for the node to run"
          : "\(thousands(figures.unfolded)) edits wait for the node to run")
    }
    return remarks
  }

  /// What of this node itself keeps it from being in sync: rows that went with a table, a time that
  /// is not known, edits that wait.
  func lacks(
    _ figures: StoreFigures, _ waiting: [WaitingTable], hasOthers: Bool, hasTime: Bool,
    lost: Int
  ) -> [String] {
    var lacks: [String] = []
    let gone = waiting.filter { $0.lost > 0 }
    for table in gone {
      let rows = counted(table.lost, "row")
      lacks.append("table \(table.name) is not here on \(node), and \(rows) went with it")
    }
    let others = lost - gone.reduce(0) { $0 + $1.lost }
    if hasOthers, others > 0 { lacks.append(missing(others, figures)) }
    if hasOthers, !hasTime { lacks.append("the time of the site is not known yet") }
    let edits = [
      (figures.unfolded, "not taken in yet"), (figures.unjudged, "not judged by the anchor yet"),
    ]
    for (count, state) in edits where count > 0 {
      lacks.append("\(counted(count, "edit")) \(count == 1 ? "is" : "are") \(state)")
    }
    return lacks
  }

  /// Rows that went with a table which is here again.
  private func missing(_ rows: Int, _ figures: StoreFigures) -> String {
    let tables = figures.tables.filter { $0.lost > 0 }.map(\.name)
    let table = tables.count == 1 ? tables[0] : nil
    return "\(counted(rows, "row")) that went with \(table.map { "table \($0)" } ?? "a table") of "
      + "\(node) have not come again (if no machine has them any more: flotilla untrack "
      + "\(shellWord(path)) \(table.map(shellWord) ?? "TABLE"), then track it)"
  }

  /// A table that the site tracks and whose rows cannot be seen here.
  private func remark(on table: WaitingTable) -> String {
    if let question = table.question { return remark(on: table, question) }
    let (file, word) = (shellWord(path), shellWord(table.name))
    var text = "table \(table.name) is tracked, but "
    text += table.isMissing ? "not here" : "cannot be replicated as it is here"
    text += ": \(table.reason); "
    text += "\(counted(table.rows, "row")) \(table.rows == 1 ? "waits" : "wait") for it"
    if table.lost > 0 {
      text += ", and \(table.lost) that went with it are to come from other nodes again"
    }
    guard table.isMissing else { return text + (table.remedy.map { " (\($0))" } ?? "") }
    return text
      + " (create it with the site's primary key, or: flotilla schema \(file) --adopt NODE; "
      + "if a table that holds its rows was renamed, then --map \(word)=NEW; if no machine is to "
      + "have it any more: flotilla untrack \(file) \(word))"
  }

  /// A table that is here, and that the site has not taken in.
  private func remark(on table: UntrackedTable) -> String? {
    let name = quoted(table.name)
    let track = "flotilla track \(shellWord(path)) \(shellWord(table.name))"
    switch table.kind {
    case .new where !isWhole:
      return "the table \(name) is new, and \(node) may not choose tables: a node that "
        + "has it and may write every table takes it in"
    case .new:
      return isRunning
        ? "the table \(name) is new: it is replicated once it has stayed as it is for some seconds"
        : "the table \(name) is new: it is replicated once a node runs, or with: \(track)"
    case .scratch(let original):
      return "the table \(name) is new and not replicated, for its name says that it is a copy of "
        + "\(quoted(original)); if it is not: \(track)"
    case .similar(let missing):
      return "the table \(name) is new, and may be \(quoted(missing)) of the site, which is not "
        + "here: flotilla schema \(shellWord(path)) --map \(shellWord(missing))="
        + "\(shellWord(table.name)); if it is another one: \(track)"
    case .refused(let reason, let remedy):
      return "the table \(name) is new and not replicated: \(reason)"
        + (remedy.map { " (\($0))" } ?? "")
    case .book, .old: return nil
    }
  }

  /// A table of this file has the name of one that the site tracks.
  private func remark(on table: WaitingTable, _ question: WaitingTable.Question) -> String {
    let name = quoted(table.name)
    let (file, word) = (shellWord(path), shellWord(table.name))
    let rows = question.rowsHere == 1 ? "1 row" : "\(question.rowsHere) rows"
    let waiting = table.rows == 1 ? "1 row waits" : "\(table.rows) rows wait"
    return
      "\(question.node ?? "the site") tracks a table \(name), and this file has had one of its "
      + "own, with \(rows): none is sent or changed, and \(waiting) for it. If it is the same "
      + "table: flotilla track \(file) \(word). If not: flotilla untrack \(file) \(word) --here"
  }

  /// That edits wait for the time of the site, and what ends that.
  func remark(onTime waiting: Int) -> String? {
    guard !isPlaced else { return nil }
    let edits = waiting == 1 ? "1 edit waits" : "\(waiting) edits wait"
    return (waiting == 0 ? "what is written here waits" : edits)
      + ": this machine was started anew, and the time of the site is not known here yet; it comes "
      + "from the first node in reach. If none will come: flotilla clock \(shellWord(path)) "
      + "--set TIME"
  }

  /// That rows have stamps from the future.
  func remark(onFuture count: Int) -> String? {
    guard count > 0 else { return nil }
    let rows = count == 1 ? "1 row has a stamp" : "\(count) rows have stamps"
    return "\(rows) from the future: edits made elsewhere without knowing of it lose; repair it "
      + "with: flotilla clock \(shellWord(path)) --repair"
  }

  /// That the first copy is not complete; `isConnected`: with a member.
  func remark(on copy: StatusReport.FirstCopy, isConnected: Bool) -> String {
    if isRunning {
      return isConnected
        ? "the first copy from \(copy.from) is under way"
        : "the first copy from \(copy.from) is not complete; it goes on when \(copy.from) is in "
          + "reach"
    }
    return "the first copy from \(copy.from) is not complete; it \(Self.continuation(path))"
  }

  /// How a first copy that was cut off goes on.
  static func continuation(_ path: String) -> String {
    "goes on where it stopped with: flotilla run \(shellWord(path)) --background, or "
      + "flotilla join \(shellWord(path)) CODE"
  }

  /// A member says that deleted rows went while this node was away. `silent`: who has not signed
  /// for that yet; nil if nothing shows that this node may have missed anything.
  func disbelief(of name: String, silent: [String]?) -> String {
    let claim = "\(name) says that deleted rows went while this node was away"
    guard let silent else {
      return "\(claim), and nothing shows that it was: no rows go to and fro. If it lies, on an "
        + "admin: flotilla revoke \(shellWord(path)) \(shellWord(name)). If it is right, stop this "
        + "node, on an admin: flotilla forget \(shellWord(path)) \(shellWord(node)), and "
        + "start it again"
    }
    guard !silent.isEmpty else { return "\(claim), and the others have not signed for that yet" }
    let names = silent.sorted().joined(separator: ", ")
    return "\(claim), and there is no signature for that of \(names): no "
      + "rows go to and fro. It comes with them; if they will not come back, on an admin: flotilla "
      + "forget \(shellWord(path)) NODE for each"
  }
}
