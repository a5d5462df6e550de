import CAvahi

/// The short text that goes with a service: keys and values.
struct TXTRecord: Sendable, Hashable {
  /// The most bytes of a record that is announced.
  ///
  /// RFC 6763, 6.2: "200 bytes or less" is typical; an oversized record once aborted the daemon
  /// (avahi issue 455).
  static let sizeLimit = 200

  /// The most that is taken from others: more keys, or longer texts, are left out.
  private static let pairLimit = 16

  let pairs: [String: String]

  /// Checks what is to be announced: keys by RFC 6763, 6.4, and the size of the whole.
  init(announcing pairs: [String: String]) throws(NetworkError) {
    for key in pairs.keys {
      guard (1...9).contains(key.utf8.count),
        key.utf8.allSatisfy({ (0x20...0x7e).contains($0) && $0 != UInt8(ascii: "=") })
      else {
        throw NetworkError(.invalidAdvertisement, "a key is 1 to 9 printable characters without =")
      }
    }
    let size = Self.size(of: pairs)
    guard size < Self.sizeLimit, !pairs.values.contains(where: { $0.utf8.contains(0) }) else {
      throw NetworkError(
        .invalidAdvertisement, "the text takes \(size) bytes, the most is \(Self.sizeLimit - 1)")
    }
    self.pairs = pairs
  }

  /// One byte of length and the equals sign for each pair.
  static func size(of pairs: [String: String]) -> Int {
    pairs.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 2 }
  }

  /// Copies what somebody else announces, within bounds; broken text is left out.
  init(copying list: UnsafeMutablePointer<AvahiStringList>?) {
    var pairs: [String: String] = [:]
    var next = list
    while let entry = next, pairs.count < Self.pairLimit {
      next = avahi_string_list_get_next(entry)
      let size = min(avahi_string_list_get_size(entry), 255)
      let bytes = UnsafeRawBufferPointer(start: avahi_string_list_get_text(entry), count: size)
      let parts = bytes.split(separator: UInt8(ascii: "="), maxSplits: 1)
      guard let key = parts.first.flatMap({ String(validating: $0, as: UTF8.self) }),
        let value = String(validating: parts.dropFirst().first ?? bytes[0..<0], as: UTF8.self),
        bytes.first != UInt8(ascii: "=")
      else { continue }
      pairs[key] = value
    }
    self.pairs = pairs
  }

  /// Lends the record as a list of Avahi's, in the order of the keys.
  func withList<Result>(_ body: (UnsafeMutablePointer<AvahiStringList>?) -> Result) -> Result {
    var list: UnsafeMutablePointer<AvahiStringList>?
    for (key, value) in pairs.sorted(by: { $0.key > $1.key }) {
      list = avahi_string_list_add_pair(list, key, value)
    }
    defer { avahi_string_list_free(list) }
    return body(list)
  }
}
