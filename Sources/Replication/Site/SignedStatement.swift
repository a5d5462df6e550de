/// The mathematics of keys, which this target leaves to others.
package struct Notary: Sendable {
  /// The first half of SHA-256: names a key, a site, a statement.
  package var digest: @Sendable ([UInt8]) -> Identity
  /// Whether the owner of `key` has signed `bytes`.
  package var isSigned: @Sendable (_ bytes: [UInt8], _ signature: [UInt8], _ key: [UInt8]) -> Bool

  package init(
    digest: @escaping @Sendable ([UInt8]) -> Identity,
    isSigned: @escaping @Sendable ([UInt8], [UInt8], [UInt8]) -> Bool
  ) {
    self.digest = digest
    self.isSigned = isSigned
  }
}

/// A statement with the signature of its issuer, as it travels and is stored.
package struct SignedStatement: Sendable, Equatable {
  package static let signatureLength = 64
  /// Longer ones are not read.
  package static let limit = 4 << 10

  package let statement: SiteStatement
  package let signature: [UInt8]

  package init(_ statement: SiteStatement, signature: [UInt8]) {
    self.statement = statement
    self.signature = signature
  }

  /// The statement, then the signature.
  package var bytes: [UInt8] { statement.bytes + signature }

  package init(_ bytes: [UInt8]) throws(WireError) {
    guard bytes.count <= Self.limit else { throw WireError(.tooLong, "statement") }
    guard bytes.count > Self.signatureLength else { throw WireError(.truncated, "statement") }
    statement = try SiteStatement(Array(bytes.dropLast(Self.signatureLength)))
    signature = Array(bytes.suffix(Self.signatureLength))
  }

  /// Several, each as a `blob`.
  package static func encode(_ statements: [SignedStatement]) -> [UInt8] {
    var writer = ByteWriter()
    writer.uint(statements.count)
    for statement in statements { writer.blob(statement.bytes) }
    return writer.bytes
  }

  /// Reads what `encode` has written, at most `most`.
  package static func decode(
    _ bytes: [UInt8], most: Int
  ) throws(WireError) -> [SignedStatement] {
    var reader = ByteReader(bytes)
    let statements = try decode(&reader, most: most)
    try reader.finish("statements")
    return statements
  }

  static func decode(
    _ reader: inout ByteReader, most: Int
  ) throws(WireError) -> [SignedStatement] {
    var statements: [SignedStatement] = []
    for _ in 0..<(try reader.count("statements", limit: most)) {
      statements.append(try SignedStatement(try reader.blob("statement", limit: limit)))
    }
    return statements
  }
}
