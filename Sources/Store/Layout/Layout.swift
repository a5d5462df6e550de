import SQLite

/// Flotilla's own tables inside the replica; every name starts with `_flotilla_`.
enum Layout {
  /// The format of these tables; a newer one is refused, an older one upgraded.
  static let format: Int64 = 4

  /// What each table is for:
  ///
  /// - `meta`: names and ids of site, node and origin, one value each.
  /// - `table`: the site's tracked tables and their rules; replicated like any other table.
  /// - `local`: this replica's number for each table name, and how far a comparison has come.
  /// - `origin`: the frontier; a small number stands for each origin inside `version`.
  /// - `version`: the newest version of each row, clustered by key. There is no index by
  ///   (origin, seq): it would double the cost of folding and applying.
  /// - `change`: rows that have changed here, in the order of commits, while somebody asks.
  /// - `count`: how many live versions each table has.
  /// - `digest`: 256 sums over the rows of `version` that are not deleted.
  /// - `shelf`: rows that cannot be put into their table at present, wholly or in part.
  /// - `dismissed`: rows of the shelf that somebody has seen and given up, until that is folded.
  /// - `conflict`: versions that lost without having been seen, whole, with what stands.
  /// - `author`: which node writes under an origin, how it is called, and the life from which the
  ///   origin follows.
  /// - `term`: a small number stands for each term inside `version`.
  /// - `pending`: outranked versions that an anchor may still have to judge, one per origin.
  /// - `ruling`: what anchors have ruled about edits, by the edit.
  /// - `overruled`: what this anchor accepted, and then an edit over it that had not seen it.
  /// - `verdict`: this replica's own edits since there is an anchor, and what became of them.
  /// - `run`: which run of this node wrote from which own edit on, and under which origin.
  /// - `reach`: how far other nodes have come under each origin, by their own signatures.
  /// - `key`: how the key columns of each table compare text, for a table that is not here, and
  ///   the columns that it had here, to see when one is dropped.
  /// - `choice`: what was said, or is to be asked, about tables here that are not replicated.
  /// - `shape`: the key columns of the rows with each number in `local`, and how often the key of
  ///   the table was changed before it had these.
  /// - `dropped`: hashes of columns that tables had here and have no more.
  /// - `column`: renamed columns of the site's tables and their first names; replicated.
  /// - `number`: what becomes of two rows under one number, where somebody chose; replicated.
  /// - `named`: the columns of each table as they were seen last, with their first names.
  /// - `lost`: versions whose rows are here no more, though nobody deleted them.
  /// - `rest`: what rows of `lost` whose tracking has ended had for columns that are not here.
  /// - `fresh`: rows that came since everything began to be fetched anew.
  /// - `former`: rows that had to leave their key to another one, and their fresh keys.
  /// - `moving`: such rows, whole, until they are made again under a fresh key.
  /// - `unnoted`: rows that were folded before the row to which they refer.
  /// - `unseen`: rows that were written by who had not seen what stood, until they are folded.
  /// - `rekeyed`: what became of conflicts in which a row got a fresh key.
  /// - `progress`: how far an interrupted catch-up was worked through, per sender.
  /// - `peer`: the members that were met, with their last good address.
  /// - `putback`: rows that were edited without the right to, and are asked for again.
  /// - `statement`: what was signed about the members of the site.
  /// - `answer`: what the gateway has answered to writes that named a key of their own, for a day.
  ///
  /// A table with long rows has rowids. To find a key SQLite reads the entries with which it is
  /// compared to their end, and where there are none these are whole rows: 60 MB for each edit.
  static let statements = """
    CREATE TABLE _flotilla_meta(name TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;
    CREATE TABLE _flotilla_table(
      name TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, rule TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE _flotilla_local(
      id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE UNIQUE,
      comparing BLOB, baseline INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE _flotilla_origin(
      id INTEGER PRIMARY KEY, origin INTEGER NOT NULL UNIQUE, seq INTEGER NOT NULL
    );
    CREATE TABLE _flotilla_version(
      tbl INTEGER NOT NULL, key BLOB NOT NULL, origin INTEGER NOT NULL, seq INTEGER NOT NULL,
      stamp INTEGER NOT NULL, hash INTEGER, corigin INTEGER, cseq INTEGER, cstamp INTEGER,
      at INTEGER, extra BLOB, author INTEGER, PRIMARY KEY(tbl, key)
    ) WITHOUT ROWID;
    CREATE TABLE _flotilla_digest(bucket INTEGER PRIMARY KEY, sum INTEGER NOT NULL);
    \(shelf);
    CREATE TABLE _flotilla_progress(sender TEXT PRIMARY KEY NOT NULL, frontier BLOB NOT NULL)
      WITHOUT ROWID;
    CREATE TABLE _flotilla_peer(
      node TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, address TEXT, seen INTEGER,
      offset INTEGER NOT NULL DEFAULT 0, frontier BLOB
    ) WITHOUT ROWID;
    """

  private static let shelf = """
    CREATE TABLE _flotilla_shelf(
      tbl INTEGER NOT NULL, key BLOB NOT NULL, why TEXT NOT NULL, row BLOB, watch INTEGER,
      PRIMARY KEY(tbl, key)
    )
    """

  /// Tables that a file of the same format may lack, for they came later.
  static let additions = """
    CREATE INDEX IF NOT EXISTS _flotilla_shelf_waiting ON _flotilla_shelf(watch, tbl, key)
      WHERE watch IS NOT NULL;
    CREATE INDEX IF NOT EXISTS _flotilla_shelf_kept ON _flotilla_shelf(tbl, why, key)
      WHERE why <> 'columns';
    CREATE TABLE IF NOT EXISTS _flotilla_change(
      n INTEGER PRIMARY KEY, count INTEGER NOT NULL, mark INTEGER NOT NULL, rows BLOB NOT NULL
    );
    CREATE TABLE IF NOT EXISTS _flotilla_count(tbl INTEGER PRIMARY KEY, rows INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS _flotilla_dismissed(
      tbl INTEGER NOT NULL, key BLOB NOT NULL, PRIMARY KEY(tbl, key)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _flotilla_lost(
      name TEXT NOT NULL COLLATE NOCASE, key BLOB NOT NULL, why INTEGER NOT NULL,
      origin INTEGER NOT NULL, seq INTEGER NOT NULL, stamp INTEGER NOT NULL, hash INTEGER,
      corigin INTEGER, cseq INTEGER, cstamp INTEGER, at INTEGER, extra BLOB,
      author INTEGER, PRIMARY KEY(name, key)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _flotilla_rest(
      id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, key BLOB NOT NULL,
      row BLOB NOT NULL, UNIQUE(name, key)
    );
    CREATE TABLE IF NOT EXISTS _flotilla_key(
      name TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, collations BLOB NOT NULL, columns BLOB
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _flotilla_shape(
      tbl INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, shape BLOB NOT NULL,
      generation INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS _flotilla_statement(
      id INTEGER PRIMARY KEY, bytes BLOB NOT NULL UNIQUE
    );
    CREATE TABLE IF NOT EXISTS _flotilla_answer(
      token TEXT NOT NULL, key TEXT NOT NULL, request BLOB NOT NULL, status INTEGER NOT NULL,
      headers TEXT NOT NULL, body BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY(token, key)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS _flotilla_answer_at ON _flotilla_answer(at);
    CREATE INDEX IF NOT EXISTS _flotilla_answer_token ON _flotilla_answer(token, at);
    CREATE TABLE IF NOT EXISTS _flotilla_putback(
      tbl INTEGER NOT NULL, key BLOB NOT NULL, PRIMARY KEY(tbl, key)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _flotilla_dropped(
      name TEXT NOT NULL COLLATE NOCASE, column INTEGER NOT NULL, PRIMARY KEY(name, column)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _flotilla_column(
      tbl TEXT NOT NULL COLLATE NOCASE, name TEXT NOT NULL COLLATE NOCASE, first TEXT NOT NULL,
      PRIMARY KEY(tbl, name)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _flotilla_number(
      tbl TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, on_collision TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _flotilla_named(
      tbl TEXT NOT NULL COLLATE NOCASE, place INTEGER NOT NULL, name TEXT NOT NULL,
      declared TEXT NOT NULL, first TEXT NOT NULL, PRIMARY KEY(tbl, place)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _flotilla_choice(
      name TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, choice TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _flotilla_conflict(
      id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, key BLOB NOT NULL,
      at INTEGER NOT NULL, reason TEXT NOT NULL, rule TEXT NOT NULL DEFAULT '',
      state TEXT NOT NULL DEFAULT 'open', origin INTEGER, seq INTEGER, loser BLOB, winner BLOB
    );
    CREATE UNIQUE INDEX IF NOT EXISTS _flotilla_conflict_once ON _flotilla_conflict(origin, seq)
      WHERE seq IS NOT NULL;
    CREATE INDEX IF NOT EXISTS _flotilla_conflict_row ON _flotilla_conflict(name, key);
    CREATE TABLE IF NOT EXISTS _flotilla_author(
      origin INTEGER PRIMARY KEY, node TEXT NOT NULL, name TEXT, life INTEGER
    );
    CREATE TABLE IF NOT EXISTS _flotilla_term(
      id INTEGER PRIMARY KEY, number INTEGER NOT NULL, incarnation INTEGER NOT NULL,
      UNIQUE(number, incarnation)
    );
    CREATE TABLE IF NOT EXISTS _flotilla_pending(
      tbl INTEGER NOT NULL, key BLOB NOT NULL, origin INTEGER NOT NULL, seq INTEGER NOT NULL,
      stamp INTEGER NOT NULL, hash INTEGER, corigin INTEGER, cseq INTEGER, cstamp INTEGER,
      at INTEGER, extra BLOB, author INTEGER, row BLOB, PRIMARY KEY(tbl, key, origin)
    );
    CREATE INDEX IF NOT EXISTS _flotilla_pending_due ON _flotilla_pending(stamp, origin, seq);
    CREATE INDEX IF NOT EXISTS _flotilla_pending_dot ON _flotilla_pending(origin, seq);
    CREATE TABLE IF NOT EXISTS _flotilla_ruling(
      eorigin INTEGER NOT NULL, eseq INTEGER NOT NULL, origin INTEGER NOT NULL,
      seq INTEGER NOT NULL, stamp INTEGER NOT NULL, extra BLOB, kind INTEGER NOT NULL,
      rule TEXT NOT NULL, tbl INTEGER NOT NULL, key BLOB NOT NULL,
      PRIMARY KEY(eorigin, eseq, origin, seq)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX IF NOT EXISTS _flotilla_ruling_dot ON _flotilla_ruling(origin, seq);
    CREATE INDEX IF NOT EXISTS _flotilla_ruling_row ON _flotilla_ruling(tbl, key);
    CREATE TABLE IF NOT EXISTS _flotilla_overruled(
      id INTEGER PRIMARY KEY, tbl INTEGER NOT NULL, key BLOB NOT NULL, origin INTEGER NOT NULL,
      seq INTEGER NOT NULL, UNIQUE(tbl, key, origin)
    );
    CREATE TABLE IF NOT EXISTS _flotilla_verdict(
      seq INTEGER PRIMARY KEY, name TEXT NOT NULL, key BLOB NOT NULL, verdict TEXT,
      reason TEXT, rule TEXT, at INTEGER
    );
    CREATE TABLE IF NOT EXISTS _flotilla_run(
      id INTEGER PRIMARY KEY, first INTEGER NOT NULL, origin INTEGER NOT NULL, run INTEGER NOT NULL
    );
    CREATE TABLE IF NOT EXISTS _flotilla_reach(
      origin INTEGER NOT NULL, node TEXT NOT NULL, life INTEGER NOT NULL, seq INTEGER NOT NULL,
      run INTEGER NOT NULL, signature BLOB NOT NULL, PRIMARY KEY(origin, run)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _flotilla_fresh(
      tbl INTEGER NOT NULL, key BLOB NOT NULL, origin INTEGER NOT NULL, seq INTEGER NOT NULL,
      PRIMARY KEY(tbl, key)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _flotilla_former(
      tbl INTEGER NOT NULL, key BLOB NOT NULL, origin INTEGER NOT NULL, seq INTEGER NOT NULL,
      next BLOB, norigin INTEGER, nseq INTEGER, eorigin INTEGER, eseq INTEGER,
      PRIMARY KEY(tbl, key, origin, seq)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS _flotilla_former_place
      ON _flotilla_former(norigin, nseq, next) WHERE norigin IS NOT NULL;
    CREATE INDEX IF NOT EXISTS _flotilla_former_awaited ON _flotilla_former(origin, seq)
      WHERE next IS NULL;
    CREATE TABLE IF NOT EXISTS _flotilla_moving(
      tbl INTEGER NOT NULL, key BLOB NOT NULL, origin INTEGER NOT NULL, seq INTEGER NOT NULL,
      stamp INTEGER NOT NULL, hash INTEGER, corigin INTEGER, cseq INTEGER, cstamp INTEGER,
      at INTEGER, extra BLOB, author INTEGER, row BLOB, PRIMARY KEY(tbl, key, origin)
    );
    CREATE TABLE IF NOT EXISTS _flotilla_unnoted(
      ptbl INTEGER NOT NULL, pkey BLOB NOT NULL, tbl INTEGER NOT NULL, key BLOB NOT NULL,
      PRIMARY KEY(ptbl, pkey, tbl, key)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _flotilla_unseen(
      tbl INTEGER NOT NULL, key BLOB NOT NULL, row BLOB, PRIMARY KEY(tbl, key)
    );
    CREATE TABLE IF NOT EXISTS _flotilla_rekeyed(
      id INTEGER PRIMARY KEY, key BLOB NOT NULL, rows INTEGER NOT NULL
    );
    CREATE INDEX IF NOT EXISTS _flotilla_verdict_open ON _flotilla_verdict(seq)
      WHERE verdict IS NULL;
    CREATE INDEX IF NOT EXISTS _flotilla_verdict_again ON _flotilla_verdict(at)
      WHERE verdict IS NULL AND at IS NOT NULL;
    CREATE INDEX IF NOT EXISTS _flotilla_verdict_row ON _flotilla_verdict(name, key, seq)
      WHERE verdict IS NULL;
    """

  /// Makes what a file of this format lacks; mostly nothing, and that takes one query.
  static func complete(_ connection: Connection) throws(SQLiteError) {
    let count = try connection.scalar(countAdded).integer
    guard count != Int64(added.count) else { return }
    try connection.transaction { () throws(SQLiteError) in try add(to: connection) }
  }

  /// Makes what came later, also the columns.
  static func add(to connection: Connection) throws(SQLiteError) {
    let former = try setAside(on: connection)
    if former.contains("_flotilla_shelf") { try connection.execute(shelf) }
    let hasCounts = try hasTable("_flotilla_count", on: connection)
    try connection.execute(additions)
    for table in former { try takeBack(table, on: connection) }
    if !hasCounts { try connection.execute(VersionFigures.fill) }
    // Indexes that others have taken the place of. A table that no code reads any more stays: a
    // node of the version before may still run beside a command of this one.
    for index in [
      "_flotilla_former_next", "_flotilla_former_dot", "_flotilla_shelf_watch",
      "_flotilla_shelf_why", "_flotilla_pending_stamp",
    ] {
      try connection.execute("DROP INDEX IF EXISTS main.\(index)")
    }
    try nameSettings(on: connection)
  }

  /// Takes tables away that had no rowids in earlier versions; gives their names. Their rows stay.
  private static func setAside(on connection: Connection) throws(SQLiteError) -> [String] {
    let found = try connection.rows(
      """
      SELECT name FROM main.sqlite_schema
      WHERE name IN ('_flotilla_shelf', '_flotilla_pending', '_flotilla_moving')
        AND sql LIKE '%WITHOUT ROWID'
      """
    ).compactMap { $0[0].string }
    for table in found {
      try connection.execute(
        """
        CREATE TABLE main.\(table)_before AS SELECT * FROM main.\(table);
        DROP TABLE main.\(table)
        """)
    }
    return found
  }

  private static func takeBack(
    _ table: String, on connection: Connection
  ) throws(SQLiteError) {
    let former = table + "_before"
    // Rows of the shelf did not wait for others at first.
    let names = try columns(of: former, on: connection).sorted().joined(separator: ", ")
    try connection.execute(
      """
      INSERT INTO main.\(table)(\(names)) SELECT \(names) FROM main.\(former);
      DROP TABLE main.\(former)
      """)
  }

  /// Gives the tables that hold for the whole site their numbers.
  static func nameSettings(on connection: Connection) throws(SQLiteError) {
    for name in Tables.siteWide {
      try connection.run("INSERT OR IGNORE INTO _flotilla_local(name) VALUES (?)", [.string(name)])
    }
  }

  static func columns(
    of table: String, on connection: Connection
  ) throws(SQLiteError) -> Set<String> {
    let rows = try connection.rows(
      "SELECT name FROM pragma_table_info(?, 'main')", [.string(table)])
    return Set(rows.compactMap { $0[0].string })
  }

  /// The names of the tables and indexes that `additions` makes.
  private static let added: Set<String> = {
    var words = additions.split { " (\n".contains($0) }[...]
    var names: Set<String> = []
    while let word = words.popFirst() {
      if word == "EXISTS", let name = words.first { names.insert(String(name)) }
    }
    return names
  }()

  private static let countAdded =
    "SELECT count(*) FROM main.sqlite_schema WHERE name IN ("
    + added.sorted().map { "'\($0)'" }.joined(separator: ", ") + ")"

  /// Whether a table is there; a file of the same format may lack one that came later.
  static func hasTable(_ name: String, on connection: Connection) throws(SQLiteError) -> Bool {
    try connection.row(
      "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = ?", [.string(name)]) != nil
  }

  /// Removes every view and table of Flotilla from the file.
  static func remove(from connection: Connection) throws(SQLiteError) {
    let names = try connection.rows(
      """
      SELECT type, name FROM main.sqlite_schema
      WHERE type IN ('view', 'table') AND name LIKE '\\_flotilla\\_%' ESCAPE '\\'
      ORDER BY type = 'table'
      """)
    for name in names {
      let kind = name[0].string == "view" ? "VIEW" : "TABLE"
      try connection.execute("DROP \(kind) main.\(quoted(name[1].string ?? ""))")
    }
  }
}
