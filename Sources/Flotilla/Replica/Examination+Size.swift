import Store

/// The room that Flotilla takes in the file, and what to do where it is out of proportion.
extension Examination {
  /// Less than that is not worth a word.
  private static let notable = 1 << 20
  private static let longJournal = 10_000
  private static let manyLives = 100
  private static let manyRows = 1_000

  mutating func judge(_ size: StoreSize, isNodeRunning: Bool) {
    self.size = SizeReport(size)
    let about = size.isEstimate ? "about " : ""
    let share = Self.percent(size.ownBytes, of: size.fileBytes)
    // What a table takes that is nearly empty says nothing about a row.
    let each = size.rows < Self.manyRows ? nil : self.size?.bytes_per_row
    add(
      "size", .ok,
      "Flotilla's own tables take \(about)\(sized(size.ownBytes)), \(share) of the file"
        + (each.map { ": \(Int($0.rounded())) bytes for each row" } ?? ""))
    if size.ownBytes > Self.notable, let shares = Self.shares(size) { add("size", .ok, shares) }
    judgeLogs(size, isNodeRunning: isNodeRunning)
    judgeLives(size)
    if size.freeBytes > max(Self.notable, size.fileBytes / 4) {
      add(
        "size", .warning, "\(sized(size.freeBytes)) of the file hold nothing",
        "They are used again. To give them back: sqlite3 \(shellWord(path)) VACUUM")
    }
  }

  /// What takes a notable part of that; nil if nothing does.
  private static func shares(_ size: StoreSize) -> String? {
    let parts = size.parts.filter { $0.rows > 0 && $0.bytes * 20 > size.ownBytes }
    guard !parts.isEmpty else { return nil }
    let texts = parts.map { part in
      "\(purposes[part.table] ?? part.table) \(percent(part.bytes, of: size.ownBytes))"
    }
    return "most of that: " + texts.joined(separator: ", ")
  }

  /// What the tables are for that may become large.
  private static let purposes = [
    "version": "what is known of each row", "journal": "edits that are not taken in yet",
    "conflict": "the conflict log", "pending": "edits that wait for the anchor",
    "verdict": "what became of edits of this node", "ruling": "what anchors have ruled",
    "shelf": "rows kept beside their tables", "lost": "rows that went with dropped tables",
    "author": "who wrote under which origin", "origin": "who wrote how much",
    "statement": "what was signed about members", "run": "when this node ran",
  ]

  private mutating func judgeLogs(_ size: StoreSize, isNodeRunning: Bool) {
    let journal = size.part("journal")
    if journal.rows > Self.longJournal {
      add(
        "size", .warning, "\(thousands(journal.rows)) edits wait in the journal",
        isNodeRunning
          ? "Look at flotilla status \(shellWord(path)): it says what they wait for."
          : "Start the node: flotilla run \(shellWord(path)) --background")
    }
    if Self.isLarge(size.part("conflict"), in: size) {
      add(
        "size", .warning, "the conflict log takes \(sized(size.part("conflict").bytes))",
        "Look through it: flotilla conflicts \(shellWord(path)); or keep less of it: "
          + "flotilla conflicts \(shellWord(path)) --keep COUNT --keep-days DAYS")
    }
    if Self.isLarge(size.part("pending"), in: size) {
      add(
        "size", .warning,
        "\(thousands(size.part("pending").rows)) edits wait for the anchor and take "
          + sized(size.part("pending").bytes),
        "Start the anchor's node, or appoint another: flotilla anchor \(shellWord(path)) NODE")
    }
    if size.deletedRows > size.rows, Self.isLarge(size.part("version"), in: size) {
      add(
        "size", .warning,
        "\(thousands(size.deletedRows)) deleted rows are remembered, more than the "
          + "\(thousands(size.rows)) that are here",
        "A program that removes and makes rows again and again better updates them.")
    }
  }

  /// Every origin is an entry in everybody's frontier, which travels with each exchange.
  private mutating func judgeLives(_ size: StoreSize) {
    guard size.earlierLives > Self.manyLives else { return }
    add(
      "size", .warning,
      "\(thousands(size.earlierLives)) of \(counted(size.origins, "origin")) belong to lives that "
        + "ended",
      "Find what puts files back or copies them again and again, such as an image that is restored "
        + "at each start.")
  }

  private static func isLarge(_ part: StoreSize.Part, in size: StoreSize) -> Bool {
    part.bytes > notable && part.bytes * 4 > size.fileBytes - size.freeBytes
  }

  private static func percent(_ part: Int, of whole: Int) -> String {
    let share = whole > 0 ? 100 * Double(part) / Double(whole) : 0
    return share > 0 && share < 1 ? "<1 %" : "\(Int(share.rounded())) %"
  }
}

extension SizeReport {
  init(_ size: StoreSize) {
    self.init(
      own_bytes: size.ownBytes, file_bytes: size.fileBytes, free_bytes: size.freeBytes,
      is_estimate: size.isEstimate, rows: size.rows, deleted_rows: size.deletedRows,
      bytes_per_row: size.rows > 0 ? Double(size.ownBytes) / Double(size.rows) : nil,
      origins: size.origins, earlier_lives: size.earlierLives,
      tables: size.parts.map { Part(table: $0.table, bytes: $0.bytes, rows: $0.rows) })
  }
}
