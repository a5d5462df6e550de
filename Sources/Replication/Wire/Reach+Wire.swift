/// What owners have signed of their origins, on the wire and in the file.
extension Reach {
  func write(to writer: inout ByteWriter) {
    writer.word(origin.rawValue)
    writer.identity(node)
    writer.word(life)
    writer.uint(seq)
    writer.word(run)
    writer.raw(signature)
  }

  init(from reader: inout ByteReader) throws(WireError) {
    let origin = Origin(rawValue: try reader.word("a reach"))
    let node = try reader.identity("a reach")
    let life = try reader.word("a reach")
    let seq = try reader.uint("a reach")
    guard 1...(1 << 62) ~= seq else { throw WireError(.malformed, "a reach") }
    self.init(
      origin: origin, node: node, life: life, seq: seq, run: try reader.word("a reach"),
      signature: try reader.raw("a reach", count: Self.signatureLength))
  }

  static func list(from reader: inout ByteReader) throws(WireError) -> [Reach] {
    let count = try reader.count("Reaches", limit: Limits.reachesPerFrame)
    guard count > 0 else { throw WireError(.malformed, "Reaches") }
    var reaches: [Reach] = []
    for _ in 0..<count { reaches.append(try Reach(from: &reader)) }
    return reaches
  }
}
