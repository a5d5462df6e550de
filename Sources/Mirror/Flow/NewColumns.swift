import SQLite

/// Columns of a table that both sides have by now, and that were not kept equal when it was
/// compared last: one side has got them since.
///
/// The site gets a column that the server has had for long, with a value in each row. Here there is
/// none in any. So a value stands that only one side has.
struct NewColumns: Sendable {
  /// Their places in the link, with what SQLite puts there where nobody says anything.
  private let defaults: [(place: Int, value: Value)]
  private let places: Set<Int>

  init(_ defaults: [Int: Value]) {
    self.defaults = defaults.sorted { $0.key < $1.key }.map { (place: $0.key, value: $0.value) }
    places = Set(defaults.keys)
  }

  /// The row of the site with what only the server has a value for.
  func join(_ here: [Value], _ there: [Value]) -> [Value] {
    var row = here
    for (place, value) in defaults where here[place] == value && !there[place].isNull {
      row[place] = there[place]
    }
    return row
  }

  /// Stands for a row of the server: its other columns, and in which of these it has a value.
  func note(of there: [Value]) -> String {
    defaults.map { there[$0.place].isNull ? "0" : "1" }.joined() + rest(of: there)
  }

  /// Whether both rows become one without any loss: of no column does each side have a value.
  func areOne(_ here: [Value], _ note: String) -> Bool {
    note.dropFirst(defaults.count) == rest(of: here)
      && zip(note, defaults).allSatisfy { $0 == "0" || here[$1.place] == $1.value }
  }

  private func rest(of row: [Value]) -> String {
    RowKey.fingerprint(row.indices.filter { !places.contains($0) }.map { row[$0] })
  }
}

extension MirrorState {
  /// Which columns a table had when it was compared last, in small letters.
  struct Columns: Codable, Sendable, Equatable {
    /// Those that are kept equal.
    var mirrored: [String]
    /// Those of the server.
    var there: [String]

    init(_ link: TableLink) {
      mirrored = link.columns.map { $0.name.lowercased() }
      there = link.server.columns.map { $0.name.lowercased() }
    }
  }
}

extension TableLink {
  /// The places of columns that were not kept equal before. Where one has gone the other may be the
  /// same under another name, unless the server had both.
  fileprivate func places(newSince before: MirrorState.Columns) -> [Int] {
    let names = columns.map { $0.name.lowercased() }
    let areAllThere = before.mirrored.allSatisfy(names.contains)
    return names.indices.filter { place in
      !before.mirrored.contains(names[place])
        && (areAllThere || before.there.contains(names[place]))
    }
  }
}

extension MirrorEngine {
  /// Learns which columns of tables are new, and counts as such until the tables are compared.
  func learnColumns(_ session: MirrorSession) throws(MirrorError) {
    for link in session.capture.links {
      let places = state.columns?[link.number].map(link.places) ?? []
      if places.isEmpty {
        noteColumns(link, session)
      } else {
        session.new[link.number] = try reading { () throws(SQLiteError) in
          NewColumns(try session.site.defaults(of: link, places))
        }
      }
    }
    // What goes out before they are compared would take the server's values away.
    session.meeting.begin(session.new.keys)
  }

  /// None of a table are new any more.
  func noteColumns(_ link: TableLink, _ session: MirrorSession) {
    state.columns = state.columns ?? [:]
    state.columns?[link.number] = MirrorState.Columns(link)
    session.new[link.number] = nil
  }
}

extension SiteFile {
  /// What SQLite puts into columns where nobody says anything; NULL if that is no constant.
  fileprivate func defaults(
    of link: TableLink, _ places: [Int]
  ) throws(SQLiteError) -> [Int: Value] {
    let scratch = try Connection(path: ":memory:", mode: .create)
    var defaults: [Int: Value] = [:]
    for place in places {
      let text = try connection.scalar(
        "SELECT dflt_value FROM pragma_table_xinfo(?, 'main') WHERE name = ?",
        [.string(link.site.name), .string(link.columns[place].name)])
      let type = link.columns[place].form.affinity.declaration
      let value = text.string.flatMap { text -> Value? in
        try? scratch.execute(
          """
          DROP TABLE IF EXISTS d; CREATE TABLE d(c \(type) DEFAULT (\(text)));
          INSERT INTO d DEFAULT VALUES
          """)
        return try? scratch.scalar("SELECT c FROM d")
      }
      defaults[place] = value ?? .null
    }
    return defaults
  }
}

extension Affinity {
  /// What declares a column of it.
  fileprivate var declaration: String {
    switch self {
    case .integer: "INTEGER"
    case .real: "REAL"
    case .numeric: "NUMERIC"
    case .text: "TEXT"
    case .none: ""
    }
  }
}
