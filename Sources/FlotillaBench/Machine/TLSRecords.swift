/// Cuts what one side of a TLS 1.3 connection sends into its records, without reading them.
struct TLSRecords {
  /// What a record adds to what is said in it, beside its header: a byte that names its kind and
  /// the tag of the cipher (RFC 8446, 5.2: "the length is the sum of the lengths of the content
  /// and the padding, plus one for the inner content type, plus any expansion added by the AEAD
  /// algorithm").
  private static let expansion = 1 + 16

  /// The length of each record, without its header of five bytes.
  private(set) var lengths: [Int] = []
  private var header: [UInt8] = []
  private var rest = 0

  mutating func append(_ bytes: some Collection<UInt8>) {
    var bytes = bytes[...]
    while let first = bytes.first {
      if rest > 0 {
        let step = min(rest, bytes.count)
        rest -= step
        bytes = bytes.dropFirst(step)
        continue
      }
      header.append(first)
      bytes = bytes.dropFirst()
      guard header.count == 5 else { continue }
      rest = Int(header[3]) << 8 | Int(header[4])
      lengths.append(rest)
      header = []
    }
  }

  /// The bytes that were said in the records after those of the handshake.
  func said(after handshake: Int) -> Int {
    lengths.dropFirst(handshake).reduce(0) { $0 + max(0, $1 - Self.expansion) }
  }
}
