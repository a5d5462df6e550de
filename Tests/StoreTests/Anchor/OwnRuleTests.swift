import Foundation
import Replication
import Testing

@testable import Store

/// The rule that the documentation builds as an example.
@Suite struct OwnRuleTests {
  private func version(_ origin: UInt64, _ seq: UInt64, at stamp: Int64) -> Version {
    let creation = Dot(Origin(rawValue: 1), 1)
    return Version(
      dot: Dot(Origin(rawValue: origin), seq), created: creation,
      stamp: Stamp(rawValue: stamp), hash: UInt64(stamp), isDeleted: false)
  }

  @Test func `the text of the documentation is what is tested`() throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    let root = folder.deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "docs/rules.md"), encoding: .utf8)
    let rule = try String(contentsOf: folder.appending(path: "FirstWins.swift"), encoding: .utf8)
    let text = rule.replacing("import Replication\n\n", with: "")
    #expect(page.contains(text))
  }

  @Test func `lets the first edit stand, whatever comes later`() {
    let standing = version(2, 1, at: 20)
    for (edit, expected) in [(version(3, 1, at: 10), nil), (version(3, 1, at: 30), Reason.unseen)] {
      let claim = Claim(edit: edit, standing: standing, isOnline: true)
      #expect(MergeRules.objection(to: claim, under: FirstWins.self) == expected)
    }
    let own = Claim(edit: version(2, 2, at: 30), standing: standing, isOnline: false)
    #expect(MergeRules.objection(to: own, under: FirstWins.self) == nil)
  }

  /// A site whose anchor knows the rule, with edits of one row that did not see each other.
  private func site() throws -> AnchorSite {
    let site = try AnchorSite(FirstWins.name)
    for replica in site.replicas { replica.store.rules.append(FirstWins.self) }
    try site.a.write("UPDATE note SET text = 'early' WHERE id = 'r'", at: 10)
    try site.b.write("UPDATE note SET text = 'late' WHERE id = 'r'", at: 20)
    return site
  }

  @Test(arguments: [true, false])
  func `decides between replicas, whoever comes first`(isInOrder: Bool) throws {
    let site = try site()
    try site.meet([site.anchor, isInOrder ? site.a : site.b])
    try site.meet()
    #expect(try site.isEqual)
    for replica in site.replicas { #expect(try replica.text() == "early") }
    let lost = "late lost to early: unseen (first-wins)"
    #expect(try site.anchor.conflicts() == [lost])
    #expect(try site.b.conflicts() == [lost])
    #expect(try site.a.conflicts().isEmpty)
    #expect(try site.a.verdicts() == ["accepted first-wins"])
    let verdict = isInOrder ? "rejected unseen first-wins" : "accepted first-wins"
    #expect(try site.b.verdicts() == [verdict])
  }

  @Test func `lets a later edit stand whose author had seen the first`() throws {
    let site = try site()
    try site.meet()
    try site.b.write("UPDATE note SET text = 'later, and seen' WHERE id = 'r'", at: 30)
    try site.meet()
    #expect(try site.isEqual)
    #expect(try site.anchor.text() == "later, and seen")
    #expect(try site.b.verdicts().last == "accepted first-wins")
  }

  @Test func `every rule is known by its name`() {
    #expect(MergeRules.all.map { $0.name }.count == Set(MergeRules.all.map { $0.name }).count)
    for rule in MergeRules.all { #expect(MergeRules.named(rule.name) == rule) }
    #expect(MergeRules.named("first-wins") == nil)
  }
}
