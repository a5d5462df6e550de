import Replication
import Testing

@Suite struct ContentRestTests {
  @Test func `what some columns count can be had from the hash without their values`() {
    let (a, b) = (ContentHash.column("a"), ContentHash.column("b"))
    for number in Int64(-50)..<50 {
      var (whole, part) = (ContentHash(), ContentHash())
      whole.add(column: a, .integer(number))
      part.add(column: a, .integer(number))
      #expect(part.rest(to: whole.value) == 0)
      whole.add(column: b, .text(Array("text \(number)".utf8)))
      part.add(rest: part.rest(to: whole.value))
      #expect(part.value == whole.value)
    }
  }
}
