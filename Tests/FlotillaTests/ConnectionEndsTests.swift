import Replication
import Testing

@testable import Flotilla

/// What is told of connections that came to nothing.
@Suite struct ConnectionEndsTests {
  private let address = "192.0.2.7:4710"

  @Test func `a reason is told when it is new`() {
    var it = ConnectionEnds()
    let lines = ["no", "no", "why", "no"].map {
      it.note($0, dialled: address, from: "192.0.2.7", at: 0)
    }
    let end = "a connection to \(address) ended:"
    #expect(lines == ["\(end) no", nil, "\(end) why", "\(end) no"])
    #expect(it.reason(address) == "no" && it.reason("192.0.2.8:4710") == nil)
    it.refuse(address)
    #expect(it.reason(address) == ConnectionEnds.refused)
    it.forget(address)
    #expect(it.reason(address) == nil)
  }

  @Test func `strangers get few lines a minute, and what was dialled always does`() {
    var it = ConnectionEnds()
    let told = (0..<100).filter {
      it.note("no", dialled: nil, from: "192.0.2.\($0)", at: 0) != nil
    }
    #expect(told == Array(0..<StrangerLines.most))
    #expect(it.note("no", dialled: address, from: "192.0.2.7", at: 0) != nil)
    let next = it.note("why", dialled: nil, from: "192.0.2.7", at: StrangerLines.minute)
    #expect(next?.hasSuffix("why (40 more such lines were left out)") == true, "\(next ?? "")")
  }

  @Test func `no more ends are remembered than a few`() {
    var it = ConnectionEnds()
    for number in 0...ConnectionEnds.most {
      _ = it.note("no", dialled: "\(number)", from: "", at: 0)
    }
    #expect(it.reason("0") == nil && it.reason("\(ConnectionEnds.most)") == "no")
  }
}
