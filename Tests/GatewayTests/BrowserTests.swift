import Foundation
import Testing

private let isAsked = ProcessInfo.processInfo.environment["FLOTILLA_BROWSER"] != nil

/// The page as people use it: in a browser, with the built program behind it.
@Suite(.serialized, .enabled(if: isAsked, "needs FLOTILLA_BROWSER, as make browser sets it"))
struct `The page in a browser` {
  private static let schema = """
    PRAGMA journal_mode = WAL;
    CREATE TABLE patient(id INTEGER PRIMARY KEY, name TEXT NOT NULL, ward TEXT);
    INSERT INTO patient VALUES (1, 'Ann', 'A'), (2, 'Bo <b>', 'B')
    """

  private struct Desk {
    let place: Workplace
    let node: Served
    let browser: Browser

    var address: String { "http://127.0.0.1:\(node.port)/" }

    func signedIn(_ view: String, to database: String = "clinic.db") async throws -> Tab {
      let tab = try await browser.open(address + view)
      #expect(try await tab.says("Sign in"))
      try await tab.type(try await place.token(database), into: "#token")
      try await tab.press("Sign in")
      return tab
    }
  }

  private func atDesk(_ body: (Desk) async throws -> Void) async throws {
    try await Workplace.with { place in
      try await place.found("clinic.db", Self.schema)
      let node = try await place.serve("clinic.db", "--http", "127.0.0.1:0")
      let browser = try Browser(in: place)
      try await body(Desk(place: place, node: node, browser: browser))
      #expect(browser.complaints.isEmpty, "\(browser.complaints)")
      try await browser.end()
      try await node.stop()
    }
  }

  @Test func `shows rows as they change, in twelve tabs by one stream`() async throws {
    try await atDesk { desk in
      let first = try await desk.signedIn("#/tables/patient")
      #expect(try await first.says("Bo <b>"))
      try await first.picture("tables")
      var tabs = [first]
      for _ in 1..<12 {
        tabs.append(try await desk.browser.open(desk.address + "#/tables/patient"))
      }
      for tab in tabs {
        try await tab.show()
        #expect(try await tab.says("Bo <b>"))
      }
      let locks = """
        navigator.locks.query().then(({ held, pending }) => `${held.length} ${pending.length}`)
        """
      #expect(try await eventually { try await first.run(locks) == "1 11" })
      // Asking by itself is off: what is seen now came by the stream of the first tab.
      let last = tabs[11]
      try await Task.sleep(for: .milliseconds(500))
      try await last.run("setTimeout = () => 0")
      try await Task.sleep(for: .seconds(3))
      try await desk.place.sql("clinic.db", "INSERT INTO patient VALUES (3, 'Cleo', 'C')")
      #expect(try await last.says("Cleo"))
      try await desk.place.sql("clinic.db", "INSERT INTO patient VALUES (4, 'Dora', 'D')")
      #expect(try await last.says("Dora"))
      // Whoever followed is gone, and another one does.
      try await tabs.removeFirst().close()
      let next = tabs[0]
      #expect(try await eventually { try await next.run(locks) == "1 10" })
    }
  }

  @Test func `a cell is edited, and what is wrong is said`() async throws {
    try await atDesk { desk in
      let tab = try await desk.signedIn("#/tables/patient")
      try await tab.press("Edit")
      try await tab.type("Anne", into: "#field-1")
      try await tab.picture("editing")
      try await tab.press("Save")
      #expect(try await tab.says("Saved"))
      #expect(try await tab.says("Last edited on first"))
      let letters = try await desk.browser.open(
        desk.address + "#/tables/patient?column=name&is=contains&value=%25")
      #expect(try await letters.says("No row is like that"))
      #expect(
        try await desk.place.sql("clinic.db", "SELECT name FROM patient WHERE id = 1") == "Anne")
      // Somebody else was faster.
      try await desk.place.sql("clinic.db", "UPDATE patient SET ward = 'Z' WHERE id = 1")
      try await tab.type("Annette", into: "#field-1")
      try await tab.press("Save")
      #expect(try await tab.says("somebody else has changed the row"))
      // What was typed is not lost.
      #expect(try await tab.run("document.querySelector('#field-1').value") == "Annette")
      #expect(
        try await desk.place.sql("clinic.db", "SELECT name FROM patient WHERE id = 1") == "Anne")
      try await tab.press("Close")
      try await tab.press("Add a row…")
      try await tab.type("Dora", into: "#field-1")
      try await tab.press("Add the row")
      #expect(try await tab.says("Saved"))
      #expect(
        try await desk.place.sql("clinic.db", "SELECT count(*) FROM patient WHERE name = 'Dora'")
          == "1")
    }
  }

  @Test func `a verdict that comes late is told, and that the anchor is shut out`() async throws {
    try await atDesk { desk in
      let (place, node) = (desk.place, desk.node)
      let code = try await place.run("flotilla", "invite", "clinic.db")
      let word = try #require(code.text.split(separator: "\n").first.map(String.init))
      let address = "127.0.0.1:\(node.nodePort)"
      try await place.flotilla("join", "b.db", word, "--at", address, "--name", "ward-2")
      var office = try await place.serve("b.db", "--peer", address)
      try await place.flotilla("anchor", "clinic.db", "ward-2")
      let tab = try await desk.signedIn("#/tables/patient")
      try await office.stop()
      try await tab.press("Edit")
      try await tab.type("Anne", into: "#field-1")
      try await tab.press("Save")
      #expect(try await tab.says("If it rejects it, this page says so."))
      try await tab.press("Close")
      // What is awaited outlives a reload.
      try await tab.run("location.reload()")
      #expect(try await tab.says("Anne"))
      office = try await place.serve("b.db", "--peer", address)
      #expect(try await tab.says("The anchor has rejected what you wrote in patient, 1"))
      try await tab.picture("late")
      try await tab.run("document.querySelector('#late a').click()")
      #expect(try await tab.says("Restore what lost"))
      try await tab.press("Seen")
      #expect(try await tab.run("document.querySelector('#late').textContent") == "")

      try await tab.run("location.hash = '#/members'")
      try await tab.press("Shut out…")
      #expect(try await tab.says("ward-2 is the anchor of the site."))
      #expect(try await tab.says("flotilla anchor clinic.db NODE"))
      try await tab.picture("anchor")
      try await tab.type("ward-2", into: "dialog input")
      try await tab.press("Shut it out, for good")
      #expect(try await tab.says("It was the anchor: appoint another one."))
      try await office.stop()
    }
  }

  @Test func `an edit that was refused is shown beside what stands now`() async throws {
    try await atDesk { desk in
      let (place, node) = (desk.place, desk.node)
      let code = try await place.run("flotilla", "invite", "clinic.db", "--role", "reader")
      let word = try #require(code.text.split(separator: "\n").first.map(String.init))
      let address = "127.0.0.1:\(node.nodePort)"
      try await place.flotilla("join", "b.db", word, "--at", address, "--name", "ward-2")
      let reader = try await place.serve("b.db", "--peer", address, "--http", "127.0.0.1:0")
      try await place.sql("b.db", "UPDATE patient SET ward = 'mine' WHERE id = 2")
      #expect(
        try await eventually {
          try await place.sql("b.db", "SELECT ward FROM patient WHERE id = 2") != "mine"
        })
      let there = Desk(place: place, node: reader, browser: desk.browser)
      let tab = try await there.signedIn("#/conflicts", to: "b.db")
      #expect(try await tab.says("patient"))
      try await tab.run("document.querySelector('[data-at^=i]').click()")
      #expect(try await tab.says("Stands now"))
      #expect(try await tab.says("mine"))
      try await tab.picture("refused")
      try await reader.stop()
    }
  }

  @Test func `a machine is invited, its conflict restored, and it is shut out`() async throws {
    try await atDesk { desk in
      let (place, node) = (desk.place, desk.node)
      let tab = try await desk.signedIn("#/members")
      try await tab.press("Invite a machine…")
      try await tab.press("Make a code")
      #expect(try await tab.says("It can be used once"))
      try await tab.picture("invited")
      let code = try await tab.run("document.querySelector('.code').textContent")
      let address = "127.0.0.1:\(node.nodePort)"
      try await place.flotilla("join", "b.db", code, "--at", address, "--name", "ward-2")
      try await tab.press("Close")
      #expect(try await tab.says("ward-2"))
      try await tab.picture("members")

      try await place.sql("clinic.db", "UPDATE patient SET ward = 'mine' WHERE id = 2")
      try await Task.sleep(for: .seconds(1))
      try await place.sql("b.db", "UPDATE patient SET ward = 'theirs' WHERE id = 2")
      try await place.flotilla("sync", "b.db", address)
      try await tab.run("location.hash = '#/conflicts'")
      #expect(try await tab.says("patient"))
      try await tab.run("document.querySelector('[data-at^=i]').click()")
      #expect(try await tab.says("Restore what lost"))
      try await tab.picture("conflict")
      try await tab.picture("conflict-narrow", width: 380, height: 800)
      try await tab.press("Restore what lost…")
      try await tab.press("Restore")
      let isRestored = try await eventually {
        try await place.sql("clinic.db", "SELECT ward FROM patient WHERE id = 2") == "mine"
      }
      let said = try await tab.text
      #expect(isRestored, "\(said)")

      try await tab.run("location.hash = '#/members'")
      try await tab.press("Shut out…")
      try await tab.type("ward-2", into: "dialog input")
      try await tab.press("Shut it out, for good")
      #expect(try await tab.says("ward-2 is shut out"))
      let members = try await place.flotilla("members", "clinic.db", "--all")
      #expect(members.contains("revoked"), "\(members)")
      for view in ["site", "parked", "clock", "doctor"] {
        try await tab.run("document.querySelector('dialog').close(); location.hash = '#/\(view)'")
        let isShown = try await eventually {
          try await tab.run("document.title").lowercased().contains(view)
        }
        #expect(isShown)
        try await Task.sleep(for: .milliseconds(300))
        try await tab.picture(view)
      }
    }
  }
}
