import Network
import Testing

@Suite("Keys and hashes")
struct SigningKeyTests {
  // RFC 8032, 7.1, test 2.
  private let seed = hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
  private let publicKey = hex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
  private let signature = hex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
      + "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00")

  @Test("sign as RFC 8032 says")
  func signing() throws {
    let key = try #require(SigningKey(seed: seed))
    #expect(key.publicKey == publicKey)
    #expect(key.seed == seed)
    #expect(key.sign([0x72]) == signature)
    #expect(Signature.isValid(signature, of: [0x72], by: publicKey))
  }

  @Test("refuse what was not signed so")
  func refusing() throws {
    #expect(!Signature.isValid(signature, of: [0x73], by: publicKey))
    #expect(!Signature.isValid(signature, of: [0x72], by: SigningKey().publicKey))
    #expect(!Signature.isValid(Array(signature.dropLast()), of: [0x72], by: publicKey))
    #expect(!Signature.isValid(signature, of: [0x72], by: []))
    #expect(SigningKey(seed: [1, 2, 3]) == nil)
  }

  @Test("hash as FIPS 180 and RFC 5869 say")
  func hashing() throws {
    #expect(
      Hashing.sha256(Array("abc".utf8))
        == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    // RFC 5869, A.3: no salt, no info.
    #expect(
      Hashing.derive(from: [UInt8](repeating: 0x0b, count: 22), "", length: 42)
        == hex(
          "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"))
  }
}

private func hex(_ text: String) -> [UInt8] {
  stride(from: 0, to: text.count, by: 2).map { place in
    let start = text.index(text.startIndex, offsetBy: place)
    return UInt8(text[start..<text.index(start, offsetBy: 2)], radix: 16)!
  }
}
