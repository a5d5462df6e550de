import Testing

@testable import FlotillaCommand

@Suite struct `A value` {
  @Test(arguments: [
    ("500ms", Duration.milliseconds(500)), ("30s", .seconds(30)), ("1.5s", .milliseconds(1500)),
    ("15m", .seconds(900)), ("2h", .seconds(7200)), ("7d", .seconds(604_800)), ("0s", .zero),
    ("0", .zero),
  ])
  func `is a duration with its unit`(text: String, expected: Duration) {
    #expect(Duration(written: text) == expected)
  }

  @Test(arguments: [
    "", "s", "15", "15x", "-5s", "+5s", "1e3s", "5 s", ".5s", "5.s", "1.2.3s", "٣s", "99999999d",
    "nans", "15M",
  ])
  func `is no duration otherwise`(text: String) {
    #expect(Duration(written: text) == nil)
    #expect(ValueKind.duration(atLeast: .zero).objection(to: text) != nil)
  }

  @Test func `can be too long a duration`() {
    let objection = ValueKind.duration(atLeast: .zero).objection(to: "99999d")
    #expect(objection == #""99999d" is too long; the most is 3650d"#)
  }

  @Test func `can be too short a duration`() {
    let kind = ValueKind.duration(atLeast: .seconds(1))
    #expect(kind.objection(to: "999ms") == #""999ms" is too short; the least is 1s"#)
    #expect(kind.objection(to: "1s") == nil)
  }

  @Test(arguments: ["ward-1:7391", "192.168.4.17:1", "[fe80::1%eth0]:65535"])
  func `is an address with host and port`(text: String) {
    #expect(ValueKind.address(listening: false).objection(to: text) == nil)
    #expect(ValueKind.address(listening: true).objection(to: text) == nil)
    #expect(ValueKind.nodeOrAddress.objection(to: text) == nil)
  }

  @Test(arguments: [":7391", "ward-1:0"])
  func `is an address only to listen on`(text: String) {
    #expect(ValueKind.address(listening: false).objection(to: text) != nil)
    #expect(ValueKind.address(listening: true).objection(to: text) == nil)
  }

  @Test(arguments: [
    "a:", "a:b", "a:65536", "a:-1", "a:+1", "a:99999999999999999999", "fe80::1:7391", "[]:1",
    "a b:1",
  ])
  func `is no address otherwise`(text: String) {
    #expect(ValueKind.address(listening: true).objection(to: text) != nil)
    #expect(ValueKind.nodeOrAddress.objection(to: text) != nil)
  }

  @Test(arguments: [
    ("a,b", nil), ("a", nil), ("a,", #"a name in "a," is empty"#), ("", #"a name in "" is empty"#),
    ("a,b,a", #""a" is named twice"#), ("a,b\u{7}", #""b\u{7}" has control characters in it"#),
  ])
  func `is a list of names`(text: String, objection: String?) {
    #expect(ValueKind.list.objection(to: text) == objection)
  }

  @Test func `is one of a few words`() {
    #expect(ValueKind.rule.objection(to: "newest-wins") == nil)
    #expect(
      ValueKind.choice(["reader", "writer"]).objection(to: "wirter")
        == #""wirter" is none of reader or writer; did you mean writer?"#)
  }

  @Test(arguments: [
    ("statsu", "status"), ("staus", "status"), ("stauts", "status"), ("jion", "join"),
    ("synk", "sync"), ("init", "init"), ("xyz", nil), ("", nil),
  ])
  func `is taken for the nearest word`(text: String, expected: String?) {
    #expect(nearMiss(for: text, among: ["init", "join", "status", "sync"]) == expected)
  }
}
