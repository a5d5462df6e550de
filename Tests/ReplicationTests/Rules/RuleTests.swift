import Replication
import Testing

/// What each rule, and what all of them together, say to an edit.
@Suite struct `Merge rules` {
  private static let (anchor, author) = (Origin(rawValue: 5), Origin(rawValue: 9))

  /// What the anchor holds: made by the anchor at 10, as the third edit of its row.
  private static func standing(isDeleted: Bool = false, hash: UInt64 = 7) -> Version {
    let dot = Dot(anchor, 3)
    var version = Version(
      dot: dot, created: Dot(anchor, 1), stamp: Stamp(rawValue: 10), hash: isDeleted ? 0 : hash,
      isDeleted: isDeleted)
    version.term = Term(number: 1, incarnation: 1)
    version.certificate = Version.Certificate(edit: dot, at: .zero)
    return version
  }

  /// An edit of that row by somebody else.
  private static func edit(
    at stamp: Int64 = 20, sees seq: UInt64? = nil, isDeleted: Bool = false, isNew: Bool = false,
    hash: UInt64 = 8
  ) -> Version {
    let dot = Dot(author, 1)
    var version = Version(
      dot: dot, created: isNew ? dot : Dot(anchor, 1), stamp: Stamp(rawValue: stamp),
      hash: isDeleted ? 0 : hash, isDeleted: isDeleted)
    if let seq { version.context.add(Dot(anchor, seq)) }
    return version
  }

  private static func verdicts(_ edit: Version, _ standing: Version?, isOnline: Bool) -> [Reason?] {
    MergeRules.all.map {
      MergeRules.objection(
        to: Claim(edit: edit, standing: standing, isOnline: isOnline), under: $0)
    }
  }

  /// In the order newest-wins, server-wins, server-wins-on-conflict, client-wins.
  private static let cases: [(String, Version, Version?, online: [Reason?], offline: [Reason?])] = [
    (
      "a new row", edit(isNew: true), nil, [nil, nil, nil, nil], [nil, nil, nil, nil]
    ),
    ("an edit of a row never held", edit(), nil, [nil, nil, nil, nil], [nil, nil, nil, nil]),
    (
      "an edit that has seen what stands", edit(sees: 3), standing(), [nil, nil, nil, nil],
      [nil, .offline, nil, nil]
    ),
    (
      "an older one that has seen it", edit(at: 5, sees: 3), standing(), [nil, nil, nil, nil],
      [nil, .offline, nil, nil]
    ),
    (
      "an edit one version behind", edit(sees: 2), standing(), [nil, .unseen, .unseen, nil],
      [nil, .offline, .unseen, nil]
    ),
    (
      "an older one, one behind", edit(at: 5, sees: 2), standing(),
      [.older, .unseen, .unseen, nil], [.older, .offline, .unseen, nil]
    ),
    (
      "one that says what stands, unseen", edit(hash: 7), standing(), [nil, nil, nil, nil],
      [nil, nil, nil, nil]
    ),
    (
      "an older one that says what stands", edit(at: 5, hash: 7), standing(),
      [.older, nil, nil, nil], [.older, nil, nil, nil]
    ),
    (
      "a delete that has seen it", edit(sees: 3, isDeleted: true), standing(),
      [nil, nil, nil, nil], [nil, .offline, nil, nil]
    ),
    (
      "a newer delete that has not", edit(isDeleted: true), standing(),
      [nil, .unseen, .unseen, nil], [nil, .offline, .unseen, nil]
    ),
    (
      "an older delete that has not", edit(at: 5, isDeleted: true), standing(),
      [.older, .unseen, .unseen, nil], [.older, .offline, .unseen, nil]
    ),
    (
      "an edit of a deleted row, the delete unseen", edit(sees: 2), standing(isDeleted: true),
      Array(repeating: .alreadyDeleted, count: 4), Array(repeating: .alreadyDeleted, count: 4)
    ),
    (
      "both delete", edit(isDeleted: true), standing(isDeleted: true), [nil, nil, nil, nil],
      [nil, nil, nil, nil]
    ),
    (
      "saved again, the delete seen", edit(sees: 3, isNew: true), standing(isDeleted: true),
      [nil, nil, nil, nil], [nil, nil, nil, nil]
    ),
    (
      "saved anew, the delete unseen", edit(isNew: true), standing(isDeleted: true),
      [nil, nil, nil, nil], [nil, nil, nil, nil]
    ),
    (
      "another row under the key", edit(isNew: true), standing(),
      Array(repeating: .keyCollision, count: 4), Array(repeating: .keyCollision, count: 4)
    ),
    (
      "an equal row under the key", edit(isNew: true, hash: 7), standing(), [nil, nil, nil, nil],
      [nil, nil, nil, nil]
    ),
    (
      "a delete of another row under the key", edit(isDeleted: true, isNew: true), standing(),
      [nil, .unseen, .unseen, nil], [nil, .offline, .unseen, nil]
    ),
  ]

  @Test func `say what the table says`() {
    for (what, edit, standing, online, offline) in Self.cases {
      #expect(Self.verdicts(edit, standing, isOnline: true) == online, "\(what), online")
      #expect(Self.verdicts(edit, standing, isOnline: false) == offline, "\(what), offline")
    }
  }

  @Test func `break a tie of stamps in one way`() {
    var mine = Self.edit(at: 10)
    let standing = Self.standing()
    #expect(Self.verdicts(mine, standing, isOnline: false)[0] == nil)
    mine.dot = Dot(Origin(rawValue: 1), 1)
    #expect(Self.verdicts(mine, standing, isOnline: false)[0] == .older)
    mine.dot = Dot(Self.anchor, 2)
    mine.hash = 6
    #expect(Self.verdicts(mine, standing, isOnline: false)[0] == .older)
  }

  @Test func `have names, and one is the standard`() {
    let names = ["newest-wins", "server-wins", "server-wins-on-conflict", "client-wins"]
    #expect(MergeRules.all.map { $0.name } == names)
    for name in names { #expect(MergeRules.named(name)?.name == name) }
    for name in ["", "Newest-Wins", "newest-wins ", "server"] {
      #expect(MergeRules.named(name) == nil)
    }
    #expect(MergeRules.standard.name == "newest-wins")
    #expect(MergeRules.acting(for: "client-wins", hasAnchor: true).name == "client-wins")
    #expect(MergeRules.acting(for: "client-wins", hasAnchor: false).name == "newest-wins")
    // What the anchor does with one of a later version is what is told.
    #expect(MergeRules.acting(for: "of-a-later-version", hasAnchor: true).name == "newest-wins")
  }

  @Test(arguments: Reason.allCases)
  func `give reasons that people and bytes can name`(reason: Reason) {
    #expect(Reason(name: reason.name) == reason)
    #expect(Reason(rawValue: reason.rawValue) == reason)
    #expect(Ruling.Kind(rawValue: Ruling.Kind.rejected(reason).rawValue) == .rejected(reason))
  }

  @Test func `rulings about the office are no reasons`() {
    for (kind, number) in [(Ruling.Kind.tookOffice, UInt8(128)), (.stoodDown, 129)] {
      #expect(kind.rawValue == number && Ruling.Kind(rawValue: number) == kind)
      #expect(Reason(rawValue: number) == nil)
    }
    for number: UInt8 in [0, 8, 127, 130, 255] { #expect(Ruling.Kind(rawValue: number) == nil) }
  }
}
