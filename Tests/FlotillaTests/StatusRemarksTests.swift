import Replication
import Store
import Testing

@testable import Flotilla

/// What `status` remarks, and which command it names.
@Suite struct StatusRemarksTests {
  private func remarks(isRunning: Bool = true, isPlaced: Bool = true) -> StatusRemarks {
    StatusRemarks(
      path: "a b.db", node: "desk", isRunning: isRunning, isOffline: false, isPlaced: isPlaced,
      isWhole: true)
  }

  @Test func `edits wait for the time of the site alone where that is not known`() throws {
    #expect(remarks().remark(onTime: 2) == nil)
    let one = try #require(remarks(isPlaced: false).remark(onTime: 1))
    #expect(one.hasPrefix("1 edit waits: ") && one.hasSuffix("clock 'a b.db' --set TIME"))
    let none = try #require(remarks(isPlaced: false).remark(onTime: 0))
    #expect(none.hasPrefix("what is written here waits: "))
  }

  @Test func `a first copy goes on by itself where a node runs`() {
    let copy = StatusReport.FirstCopy(from: "hall", rows: 1, of: 2)
    #expect(
      remarks().remark(on: copy, isConnected: true) == "the first copy from hall is under way")
    #expect(remarks().remark(on: copy, isConnected: false).hasSuffix("when hall is in reach"))
    #expect(
      remarks(isRunning: false).remark(on: copy, isConnected: false)
        .hasSuffix("join 'a b.db' CODE"))
  }

  @Test func `who is not believed is waited for, revoked or forgotten`() {
    let it = remarks()
    #expect(it.disbelief(of: "hall", silent: nil).contains("flotilla revoke 'a b.db' hall"))
    #expect(it.disbelief(of: "hall", silent: []).hasSuffix("have not signed for that yet"))
    #expect(it.disbelief(of: "hall", silent: ["b", "a"]).contains("for that of a, b: no rows"))
  }
}
