import Flotilla

/// What `flotilla help WORD` says beyond single commands: the essence of the pages in docs/.
enum Topic: String, CaseIterable, Sendable {
  case rules, clocks, conflicts, copies, keys, docs

  var summary: String {
    switch self {
    case .rules: "which of two edits of one row stands"
    case .clocks: "what time edits have, whatever the clocks say"
    case .conflicts: "where the edits are that do not stand"
    case .copies: "backups, and moving a node to another machine"
    case .keys: "two rows that got the same number"
    case .docs: "where the pages are, and where the log is"
    }
  }

  /// The page that says more.
  private var page: String {
    switch self {
    case .rules, .conflicts: "rules.md"
    case .clocks: "clocks.md"
    case .copies: "lives.md"
    case .keys: "keys.md"
    case .docs: "README.md"
    }
  }

  /// What is printed: the text, and where there is more.
  var help: String { "\(text)\n\nMore: \(Documentation.page(page))" }

  /// Wrapped by hand, for terminals of 80 columns.
  var text: String {
    switch self {
    case .rules:
      """
      Two machines change one row without knowing of each other. When they meet, one
      edit stands; the other is kept whole in `flotilla conflicts DB`.

      Without an anchor the later edit stands. An anchor is one node that decides,
      by a rule for each table:

        newest-wins              the later edit stands
        client-wins              what comes in from the field stands
        server-wins-on-conflict  it stands if its author had seen what it replaces
        server-wins              the same, and it was in touch with the anchor

        flotilla anchor DB --here             this node decides from now on
        flotilla rule DB patient client-wins  the rule of one table
        flotilla rule DB                      which rule each table has

      The row is the unit: columns of two edits are not mixed.
      """
    case .clocks:
      """
      Edits bear the time of the site, not of a machine's clock. The first node
      founds it, and whoever joins takes it over before anything of it counts. So a
      tablet that wakes up in 1970 orders its edits right, and nobody has to set
      clocks.

        flotilla clock DB                the time of the site, and whose clock is off
        flotilla clock DB --good         the clock of this machine is right
        flotilla clock DB --set "2026-03-01 08:14:00"     the site gets this time
      """
    case .conflicts:
      """
      An edit that lost is in the log of conflicts, on the machine where it was made
      and on the anchor. Nothing is thrown away.

        flotilla conflicts DB              the open ones, with the reason
        flotilla conflicts DB show 3       both rows side by side
        flotilla conflicts DB restore 3    writes the one that lost, as a new edit
        flotilla conflicts DB dismiss all  settles them as they are
        flotilla conflicts DB --parked     rows that cannot stand in their table yet

      A parked row waits for room: another row has its unique value, or the row that
      it refers to is not here. It enters by itself when that changes.
      """
    case .copies:
      """
      A backup of a database that is in use: sqlite3 DB ".backup FILE".

      A new machine joins with a code (`flotilla invite`, `flotilla join`); a copy
      of the file does not make one. To move a node to another machine stop it, and
      move the file with the folder DB-flotilla beside it. Where both then run, one
      of them is told so.

      A file that was put back to a backup is noticed at the next start. The node
      goes on under a new number, and what it lacks comes again from the others.
      What only it had written since the backup, and had sent to nobody, is gone.
      """
    case .keys:
      """
      Two machines that do not hear of each other insert patient 2: two people, one
      number. Where tables refer to each other by foreign keys the later row gets
      the next free number, and all that hangs under it goes with it. Elsewhere one
      of the two goes to `flotilla conflicts`.

        flotilla track DB ticket --on-collision rekey    two: the later is renumbered
        flotilla track DB country --on-collision log     one thing: one of them stands

      With AUTOINCREMENT each machine numbers in a range of its own, so that hardly
      any two meet. Random keys (UUIDs) never do.
      """
    case .docs:
      """
      The manual: man flotilla, and a page for each command, such as
      man flotilla-track. Pages about everything else, in Markdown, are in

        \(Documentation.folder)

      Begin with tour.md, or with faq.md if you look for an answer.

      What a node says: in DB-flotilla/node.log where it runs with --background, on
      the terminal where it runs without, and in the journal of systemd where
      `flotilla service` has set it up (journalctl -u 'flotilla@*').

        flotilla doctor DB --bundle FILE   state and log in one file, for who helps
      """
    }
  }
}
