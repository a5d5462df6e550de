import Replication
import Testing

@Suite("Lines about strangers")
struct StrangerLinesTests {
  @Test("are few a minute, and the next minute tells how many were left out")
  func bounded() {
    var lines = StrangerLines()
    let start = 7 * StrangerLines.minute
    for _ in 0..<StrangerLines.most { #expect(lines.take(at: start + 5) == 0) }
    for number in 0..<1_000 { #expect(lines.take(at: start + 6 + Int64(number)) == nil) }
    #expect(lines.take(at: start + StrangerLines.minute) == 1_000)
    #expect(lines.take(at: start + StrangerLines.minute) == 0)
  }
}
