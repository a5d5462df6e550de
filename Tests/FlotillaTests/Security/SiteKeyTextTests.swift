import Network
import Testing

@testable import Flotilla

@Suite("A site key on paper")
struct SiteKeyTextTests {
  private let key = SigningKey(seed: (0..<32).map { UInt8($0) })!

  @Test("is read as it was written, however it was typed")
  func roundTrip() throws {
    let text = SiteKeyText(key).text(site: "North\nclinic")
    #expect(text.split(separator: "\n").allSatisfy { $0.count <= 100 })
    #expect(try SiteKeyText(text).key.seed == key.seed)
    let typed = text.lowercased().replacing("-", with: " ").replacing("0", with: "o")
    #expect(try SiteKeyText(typed).key.seed == key.seed)
    for _ in 0..<100 {
      let other = SigningKey()
      #expect(try SiteKeyText(SiteKeyText(other).text(site: "")).key.seed == other.seed)
    }
  }

  @Test("is refused with a wrong, missing or foreign digit")
  func wrong() throws {
    let digits = SiteKeyText(key).text(site: "s").split(separator: "\n").suffix(2)
      .joined(separator: "-")
    for (place, digit) in digits.enumerated() where digit != "-" {
      var typed = Array(digits)
      typed[place] = digit == "A" ? "B" : "A"
      #expect(throws: FlotillaError.self) { try SiteKeyText(String(typed)) }
    }
    #expect(throws: FlotillaError.self) { try SiteKeyText(String(digits.dropLast())) }
    #expect(throws: FlotillaError.self) { try SiteKeyText(digits + "U") }
    #expect(throws: FlotillaError.self) { try SiteKeyText("") }
  }
}
