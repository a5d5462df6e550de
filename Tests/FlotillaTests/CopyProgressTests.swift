import Replication
import Store
import Testing

@testable import Flotilla

/// How far a first copy is, as a joiner shows it.
@Suite struct CopyProgressTests {
  private let copy = FirstCopy(
    inviter: Identity(high: 1, low: 1), name: "desk", address: "", rows: 70)

  @Test func `rows count up to what was promised, or is sent by now`() {
    var it = CopyProgress(copy)
    #expect(it.progress(of: copy, hasPages: false, bytes: 9) == .copying(rows: 0, of: 70, bytes: 9))
    it.receive(Passage(rows: 50, total: 90, covers: Frontier()))
    #expect(
      it.progress(of: copy, hasPages: false, bytes: 9) == .copying(rows: 50, of: 90, bytes: 9))
    it.receive(rows: 90)
    it.receive(rows: 3)
    #expect(it.rows == 90)
  }

  @Test func `beside pages what has changed meanwhile counts`() {
    var it = CopyProgress(copy)
    it.receive(Passage(rows: 2, total: 5, covers: Frontier()))
    #expect(
      it.progress(of: copy, hasPages: true, bytes: 1) == .catchingUp(rows: 2, of: 5, bytes: 1))
  }

  @Test func `it ends, whatever has failed before`() {
    var it = CopyProgress(copy)
    it.fail(FlotillaError(.peer, "no"))
    #expect(it.unfinished == copy && it.failure?.message == "no")
    it.end()
    #expect(it.unfinished == nil)
  }
}
