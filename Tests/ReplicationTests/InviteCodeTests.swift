import Replication
import Testing

@Suite struct InviteCodeTests {
  static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

  static func code(_ seed: UInt64) -> InviteCode {
    var random = Seeded(seed)
    return InviteCode(random: random.bytes(20))
  }

  @Test(arguments: 0..<50)
  func `a code is five groups of four and two check digits`(seed: UInt64) throws {
    let code = Self.code(seed)
    let groups = code.description.split(separator: "-")
    #expect(groups.map(\.count) == [4, 4, 4, 4, 4, 2])
    #expect(groups.joined().allSatisfy { Self.alphabet.contains($0) })
    #expect(try InviteCode(code.description) == code)
  }

  @Test func `the example of the documentation is a code`() throws {
    let example = "K7QF-M2XD-9TRA-PZ4C-HJ3V-9R"
    #expect(try InviteCode(example).description == example)
  }

  @Test func `case, hyphens, spaces and look-alikes do not matter`() throws {
    let code = InviteCode(random: Array(repeating: 0, count: 10) + Array(repeating: 1, count: 10))
    let text = code.description
    let plain = text.replacing("-", with: "")
    for typed in [
      text.lowercased(), plain, " \(text) \n", plain.map { "\($0) " }.joined(),
      text.replacing("1", with: "I"), text.replacing("1", with: "l"),
      text.replacing("0", with: "o"),
    ] {
      #expect(try InviteCode(typed) == code)
    }
  }

  @Test(
    arguments: [
      ("", .length(0)), ("K7QF", .length(4)), ("K7QU-M2XD", .character("U")),
      ("K7Q!", .character("!")), ("00000000000000000000001", .length(23)),
      ("0000000000000000000001", .check),
    ] as [(String, InviteCode.Mistake)])
  func `a mistake is named`(typed: String, mistake: InviteCode.Mistake) {
    #expect(throws: mistake) { try InviteCode(typed) }
  }

  @Test(arguments: 0..<10)
  func `every single wrong digit and every swap of neighbours is noticed`(seed: UInt64) {
    let digits = Self.code(seed).description.filter { $0 != "-" }.map { $0 }
    for index in digits.indices {
      for digit in Self.alphabet where digit != digits[index] {
        var typed = digits
        typed[index] = digit
        #expect(throws: InviteCode.Mistake.check) { try InviteCode(String(typed)) }
      }
      guard index > 0, digits[index] != digits[index - 1] else { continue }
      var typed = digits
      typed.swapAt(index, index - 1)
      #expect(throws: InviteCode.Mistake.check) { try InviteCode(String(typed)) }
    }
  }

  @Test func `any two wrong digits are noticed`() {
    var random = Seeded(77)
    for seed in 0..<5_000 as Range<UInt64> {
      var digits = Self.code(seed).description.filter { $0 != "-" }.map { $0 }
      let places = digits.indices.shuffled(using: &random).prefix(2)
      for place in places {
        digits[place] = Self.alphabet.filter { $0 != digits[place] }.randomElement(using: &random)!
      }
      #expect(throws: InviteCode.Mistake.check) { try InviteCode(String(digits)) }
    }
  }
}
