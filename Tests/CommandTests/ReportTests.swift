import Flotilla
import Foundation
import Testing

@testable import FlotillaCommand

/// A made-up report: the library makes them only of real databases.
func report<Report: Decodable>(_ json: String) throws -> Report {
  try JSONDecoder().decode(Report.self, from: Data(json.utf8))
}

/// The state of the site in the product's description.
private let clinic = """
  {"site":"North clinic","node":"ward-1","role":"anchor","anchor":"ward-1",
  "tables":[{"name":"patient","rule":"newest-wins","acting_rule":"newest-wins","rows":48000},
  {"name":"visit","rule":"newest-wins","acting_rule":"newest-wins","rows":112}],
  "peers":[
  {"node":"ward-2","id":"a","state":"in-sync","behind_rows":0,"behind_seconds":0,
  "last_seen":"2026-03-01T10:14:00Z","clock_offset_ms":20,
  "clock_corrected":true,"address":"10.0.0.2:7391"},
  {"node":"pharmacy","id":"b","state":"catching-up","behind_rows":1204,"behind_seconds":3,
  "last_seen":"2026-03-01T10:14:00Z","clock_offset_ms":-3720000,
  "clock_corrected":true,"address":null},
  {"node":"field-bag","id":"c","state":"away","behind_rows":7,"behind_seconds":7200,
  "last_seen":"2026-03-01T08:14:00Z","clock_offset_ms":0,"clock_corrected":false,
  "address":null}],
  "conflicts":0,"parked":0,"unjudged":0,"in_sync":false,"not_in_sync":[],
  "running":true,"remarks":[],
  "takes_new_tables":false,"new_tables":[],"asked_tables":[]}
  """

@Suite struct `A report` {
  @Test func `of the status is a table in words`() throws {
    let status: StatusReport = try report(clinic)
    let moment = try #require(morning())
    #expect(
      Status.text(status, at: moment, colour: false) == """
        North clinic · this node: ward-1 (anchor) · 2 tables · 48,112 rows
        NODE       STATE        BEHIND            LAST SEEN   CLOCK
        ward-2     in sync      0 rows            now         +0.02 s
        pharmacy   catching up  1,204 rows, 3 s   now         −1 h 02 m  (corrected)
        field-bag  away         since 08:14       2 h ago
        0 conflicts · 0 parked · in sync with 1 of 3 nodes
        """)
    #expect(Status.text(status, at: moment, colour: true).contains("\u{1b}[32min sync\u{1b}[0m"))
  }

  @Test func `of the status tells how long a catch-up will take, once that is known`() throws {
    var status: StatusReport = try report(clinic)
    status.peers[1].seconds_left = 11.6
    let text = Status.text(status, at: try #require(morning()), colour: false)
    #expect(text.contains("catching up  1,204 rows, about 12 s left   now"))
  }

  @Test(arguments: [
    ("null", nil), (#""no answer in time""#, "--timeout 5m"),
    (#""not in reach""#, "flotilla peers"),
    (#""this node was shut out; to come back: flotilla leave a.db --force""#, nil),
  ])
  func `of a sync says what to type next`(error: String, said: String?) throws {
    let sync: SyncReport = try report(
      """
      {"peers":[{"node":"b","sent_rows":0,"received_rows":0,"seconds":1,"error":\(error)}]}
      """)
    let remedy = Sync.remedy(sync, path: "a.db")
    #expect(said.map { remedy?.contains($0) == true } ?? (remedy == nil), "\(remedy ?? "")")
  }

  @Test func `of the replicas here is no wider for a long name`() {
    let entry = Replicas.Entry(
      database: "/srv/a.db", running: true, site: String(repeating: "s", count: 128),
      node: "ward-1", in_sync: true)
    let text = Replicas.text(Replicas.Report(replicas: [entry]), colour: false)
    let cut = String(repeating: "s", count: 31) + "…"
    #expect(text.hasSuffix("/srv/a.db  \(cut)  ward-1  in sync"), "\(text)")
  }

  @Test func `of the members shows versions where they differ`() throws {
    func text(_ other: String) throws -> String {
      let member = """
        {"node":"NAME","id":"1","role":"writer","state":"member","since":"2026-03-01T00:00:00Z",
        "admitted_by":"site key","rights":{},"is_this_node":true,"is_anchor":false,
        "program":"VERSION"}
        """
      let members: [MembersReport.Member] = try ["0.1.0", other].map { version in
        try report(member.replacing("VERSION", with: version))
      }
      return Members.table(members, at: try #require(morning())).text(colour: false)
    }
    #expect(try !text("0.1.0").contains("VERSION"))
    let shown = try text("0.2.0").split(separator: "\n")
    #expect(shown[0].hasSuffix("WORDS  VERSION") && shown[2].hasSuffix("0.2.0"), "\(shown)")
  }

  @Test func `of the status does not call who has stood down the anchor`() throws {
    var status: StatusReport = try report(clinic)
    status.anchor_state = "stood-down"
    let moment = try #require(morning())
    #expect(
      Status.text(status, at: moment, colour: false)
        .hasPrefix("North clinic · this node: ward-1 (was the anchor) · 2 tables"))
    status.anchor = "ward-2"
    status.role = "writer"
    #expect(
      Status.text(status, at: moment, colour: false)
        .hasPrefix("North clinic · this node: ward-1 · anchor: ward-2 (does not judge) · 2 t"))
  }

  @Test func `of a wait for the anchor on itself says that it is that`() throws {
    let alone: WaitReport = try report(#"{"reached":[],"missing":[]}"#)
    #expect(Wait.text(alone) == "there is no other node")
    let itself: WaitReport = try report(
      #"{"reached":[],"missing":[],"remark":"this node is the anchor"}"#)
    #expect(Wait.text(itself) == "this node is the anchor")
  }

  @Test func `of the status is aligned whatever the nodes are called`() throws {
    var status: StatusReport = try report(clinic)
    status.peers[0].node = "Röntgen"
    status.peers[1].node = "北棟\u{1b}"
    status.peers[1].state = .connecting
    status.peers[1].last_seen = nil
    status.peers[2].state = .revoked
    status.conflicts = 1
    status.unjudged = 3
    status.role = "writer"
    status.anchor = nil
    status.tables[0].rule = "server-wins"
    #expect(
      Status.text(status, at: try #require(morning()), colour: false) == """
        North clinic · this node: ward-1 · 2 tables · 48,112 rows
        NODE        STATE       BEHIND   LAST SEEN   CLOCK
        Röntgen     in sync     0 rows   now         +0.02 s
        北棟\\u{1b}  connecting           never
        field-bag   revoked              2 h ago
        patient: server-wins acts as newest-wins until an anchor is appointed
        1 conflict · 0 parked · 3 unjudged · in sync with 1 of 2 nodes
        """)
  }

  @Test func `of the status says first what keeps the node from its file`() throws {
    var status: StatusReport = try report(clinic)
    status.peers = []
    status.trouble = try report(
      """
      {"kind":"disk-full","since":"2026-03-01T08:14:00Z","text":"the disk of a.db is full",
      "remedy":"Make room."}
      """)
    #expect(
      Status.text(status, at: try #require(morning()), colour: false) == """
        North clinic · this node: ward-1 (anchor) · 2 tables · 48,112 rows
        ! the disk of a.db is full (since 08:14)
          Make room.
        0 conflicts · 0 parked · no other node has joined
        """)
  }

  @Test func `of who is shut out says that it was the anchor`() {
    var report = RevokeReport(node: "office", id: "1", told: ["ward-1"], also: [])
    #expect(Revoke.said(report, path: "a.db") == "office is shut out; told ward-1")
    (report.stay_out, report.stay_limited) = (["bag"], ["kiosk", "ward-1"])
    #expect(
      Revoke.said(report, path: "a.db") == """
        office is shut out; told ward-1
        stay shut out: bag
        may do no more than before: kiosk, ward-1
        """)
    (report.stay_out, report.stay_limited) = ([], [])
    report.was_anchor = true
    #expect(
      Revoke.said(report, path: "a.db") == """
        office is shut out; told ward-1
        it was the anchor: what is written waits for a verdict that nobody gives
          appoint another: flotilla anchor a.db NODE; or let newest win, with --none
        """)
  }

  @Test func `of a node that is alone says so`() throws {
    var status: StatusReport = try report(clinic)
    status.peers = []
    #expect(
      Status.text(status, at: try #require(morning()), colour: false) == """
        North clinic · this node: ward-1 (anchor) · 2 tables · 48,112 rows
        0 conflicts · 0 parked · no other node has joined
        """)
  }

  @Test(arguments: [
    (["away"], "not in sync: ward-2 is away"),
    (["away", "away"], "not in sync: ward-2 and pharmacy are away"),
    (
      ["away", "catching-up", "failing"],
      "not in sync: pharmacy catches up, field-bag is failing, ward-2 is away"
    ),
    (["away", "revoked", "connecting"], "not in sync: field-bag is connecting, ward-2 is away"),
    (
      ["away", "away", "connecting", "away"],
      "not in sync: 1 node is connecting, 3 nodes are away"
    ),
  ])
  func `of the status says who keeps it from being in sync with any`(
    states: [String], said: String
  ) throws {
    var status: StatusReport = try report(clinic)
    let peers = status.peers + status.peers
    status.peers = try zip(peers, states).map { peer, state in
      var peer = peer
      peer.state = try #require(PeerReport.State(rawValue: state))
      return peer
    }
    let text = Status.text(status, at: try #require(morning()), colour: false)
    #expect(text.hasSuffix("0 conflicts · 0 parked · \(said)"), "\(text)")
  }

  @Test func `of the status is set in lines of the terminal`() throws {
    let parts = ["North clinic", "this node: ward-1", "2 tables"]
    #expect(Screen.lines(of: parts, within: .max) == "North clinic · this node: ward-1 · 2 tables")
    #expect(
      Screen.lines(of: parts, within: 32) == "North clinic · this node: ward-1\n  2 tables")
    #expect(Screen.lines(of: ["a", "bc"], within: 1) == "a\n  bc")
  }

  @Test func `of the status shows who has come back under its name once`() throws {
    var status: StatusReport = try report(clinic)
    let text = { Peers.table(status.peers, at: .current, addresses: false).text(colour: false) }
    let before = text().split(separator: "\n").count
    var former = try #require(status.peers.first)
    former.state = .revoked
    status.peers.append(former)
    #expect(text().split(separator: "\n").count == before)
    status.peers[status.peers.count - 1].node = "another"
    #expect(text().split(separator: "\n").count == before + 1)
  }

  @Test func `of the status says how many rows no program sees, and how to look`() throws {
    var status: StatusReport = try report(clinic)
    #expect(Status.hint(status, path: "x.db") == nil)
    status.parked = 1_204
    status.conflicts = 1
    let text = Status.text(status, at: try #require(morning()), colour: false)
    #expect(
      text.hasSuffix(
        "1 conflict · 1,204 parked (not in their tables) · in sync with 1 of 3 nodes"))
    #expect(
      Status.hint(status, path: "x.db") == """
        1,204 rows parked: kept, but programs do not see them; see which, and why, with
          flotilla conflicts x.db --parked
        what lost in 1 conflict is kept; see it with
          flotilla conflicts x.db
        """)
  }

  @Test func `of a first copy that is not complete says how far it is`() throws {
    var status: StatusReport = try report(clinic)
    status.first_copy = try report(#"{"from":"ward-2","rows":1200,"of":48112}"#)
    let text = Status.text(status, at: try #require(morning()), colour: false)
    #expect(
      text.hasSuffix(
        "0 conflicts · 0 parked · first copy not complete: 1,200 of about 48,112 rows"))
    #expect(
      Join.resuming(site: "N", node: "ward-2", address: "10.0.0.2:7391")
        == "goes on with the first copy of \"N\" from ward-2 (10.0.0.2:7391)")
  }

  @Test func `of a new site names the next command`() throws {
    var made: InitReport = try report(
      #"{"site":"North clinic","node":"ward-1","tables":["a"],"rows":1,"warnings":[],"#
        + #""takes_new_tables":false}"#)
    #expect(
      Init.text(made, path: "my clinic.db") == """
        started the site "North clinic"; this node is ward-1; 1 table, 1 row
        next: flotilla run 'my clinic.db' --background
        """)
    made.tables = []
    #expect(Init.text(made, path: "a.db").hasSuffix("next: flotilla track a.db --all"))
    made.takes_new_tables = true
    #expect(Init.text(made, path: "a.db").hasSuffix("next: flotilla run a.db --background"))
  }

  @Test func `of a first copy names the site, the rows, the bytes and the time`() throws {
    let joined: JoinReport = try report(
      """
      {"site":"s","node":"n","role":"writer","from":"f","address":"a","rows":48112,"bytes":31000000,
      "seconds":1.4,"replaced":0,"warnings":[]}
      """)
    #expect(Join.text(joined) == "copied 48,112 rows, 31 MB in 1.4 s")
    #expect(
      Join.found(site: "North clinic", node: "ward-1", address: "192.168.4.17", words: "a b c d")
        == #"found "North clinic" on ward-1 (192.168.4.17) · words: a b c d"#)
  }

  @Test func `of an invitation says how to use it and who serves it`() throws {
    var invitation: InviteReport = try report(
      #"{"code":"K7QF","expires":"2026-03-01T10:29:00Z","role":"writer","served":true}"#)
    let moment = try #require(morning())
    let text = "good until 10:29, for one machine; type there:\n  flotilla join a.db K7QF"
    #expect(Invite.instructions(invitation, path: "/srv/a.db", at: moment) == text)
    invitation.port = 7391
    #expect(
      Invite.instructions(invitation, path: "a.db", at: moment)
        == text
        + "\nif it does not find this machine by itself, add --at and its address: HOST:7391")
    invitation.addresses = ["192.168.4.17:7391", "10.0.0.2:7391"]
    #expect(
      Invite.instructions(invitation, path: "a.db", at: moment)
        == text + "\nif it does not find this machine by itself, add "
        + "--at 192.168.4.17:7391 or 10.0.0.2:7391")
    invitation.addresses = ["127.0.0.1:7391", "[::1]:7391"]
    let alone = Invite.instructions(invitation, path: "a.db", at: moment).dropFirst(text.count)
    #expect(alone.hasPrefix("\nthe node listens at 127.0.0.1:7391 or [::1]:7391, where no other"))
    invitation.addresses = nil
    invitation.port = nil
    invitation.served = false
    let more = Invite.instructions(invitation, path: "/srv/a.db", at: moment).dropFirst(text.count)
    #expect(more.contains("no node runs for /srv/a.db"))
  }

  @Test func `of an exchange says what went and came, and gives the exit status`() throws {
    var sync: SyncReport = try report(
      """
      {"peers":[{"node":"ward-2","sent_rows":1,"received_rows":1204,"seconds":0.25},
      {"node":"x","sent_rows":0,"received_rows":0,"seconds":10,"error":"no route to host"}]}
      """)
    #expect(
      Sync.text(sync, colour: false) == """
        NODE    SENT    RECEIVED    TIME    RESULT
        ward-2  1 row   1,204 rows  0.25 s  done
        x       0 rows  0 rows      10 s    no route to host
        """)
    #expect(Sync.status(of: sync) == .notInSync)
    sync.peers.removeLast()
    #expect(Sync.status(of: sync) == .done)
  }

  @Test func `of waiting tells arrived from missing`() throws {
    let wait: WaitReport = try report(#"{"reached":["a","b"],"missing":["c"]}"#)
    #expect(Wait.text(wait) == "arrived at a, b\nnot yet at c")
    #expect(Wait.target("all") == .all)
    #expect(Wait.target("anchor") == .anchor)
    #expect(Wait.target("ward-2") == .node("ward-2"))
  }

  @Test func `of the rules says which of them wait for an anchor`() throws {
    let rules: RuleReport = try report(
      #"{"rules":[{"table":"patient","rule":"client-wins","acting_rule":"newest-wins"}]}"#)
    #expect(
      Rule.text(rules, colour: false) == """
        TABLE    RULE
        patient  client-wins
        patient: client-wins acts as newest-wins until an anchor is appointed
        """)
  }

  /// Any member may write one: a peer of a later version, or somebody who wants to be read.
  @Test func `of a rule that is not known says so, and shows no more than its letters`() {
    let entry = RuleReport.Entry(
      table: "t", rule: "x\u{1b}[2J\nall equal", acting_rule: "newest-wins")
    #expect(
      Rule.waitingRules([entry]) == [
        #"t: x\u{1b}[2J\nall equal is no rule that this version knows, and acts as newest-wins"#
      ])
  }

  @Test func `of rules that wait names a few tables of each`() throws {
    let entries = ["a", "b", "c", "d", "e"].map {
      RuleReport.Entry(table: $0, rule: "server-wins", acting_rule: "newest-wins")
    }
    let end = ": server-wins acts as newest-wins until an anchor is appointed"
    #expect(Rule.waitingRules(entries) == ["a, b, c and 2 more" + end])
    #expect(Rule.waitingRules(Array(entries.prefix(4))) == ["a, b, c, d" + end])
    let acting = RuleReport.Entry(table: "f", rule: "newest-wins", acting_rule: "newest-wins")
    #expect(Rule.waitingRules([acting]).isEmpty)
  }

  @Test func `of the doctor has a remedy below each finding`() throws {
    let doctor: DoctorReport = try report(
      """
      {"findings":[{"check":"file","level":"ok","text":"clinic.db is whole"},
      {"check":"key","level":"warning","text":"not exported","remedy":"export it"}]}
      """)
    #expect(
      Doctor.text(doctor, colour: false) == """
        ok       file  clinic.db is whole
        warning  key   not exported
                       export it
        0 errors, 1 warning
        """)
  }

  @Test func `of the doctor is set in the lines of a terminal, and commands are not cut`() throws {
    let doctor: DoctorReport = try report(
      """
      {"findings":[{"check":"disk","level":"ok","text":"the disk has room for all that is to come"},
      {"check":"key","level":"warning","text":"not exported",
      "remedy":"flotilla export-site-key clinic.db FILE, then lock it away"}]}
      """)
    #expect(
      Doctor.text(doctor, colour: false, columns: 42) == """
        ok       disk  the disk has room for all
                       that is to come
        warning  key   not exported
                       flotilla export-site-key clinic.db FILE, then lock it away
        0 errors, 1 warning
        """)
  }
}
