/// A member's word that it holds all of a cut, by its own signature.
///
/// Deleted versions go when everybody holds a cut. Whoever could say so for others could make them
/// go while somebody still has the row.
package struct Acknowledgement: Sendable, Equatable, Signable {
  package static let signatureLength = 64

  package var node: Identity
  package var mark: Mark
  /// Its last own edit by then.
  package var last: Dot
  package var signature: [UInt8]

  package init(node: Identity, mark: Mark, last: Dot, signature: [UInt8] = []) {
    (self.node, self.mark, self.last, self.signature) = (node, mark, last, signature)
  }

  /// What is signed. No other thing that a node signs begins like this.
  package func text(in site: Identity) -> [UInt8] {
    var writer = ByteWriter()
    writer.raw(Array("FLOTILLA held 2\n".utf8))
    writer.identity(site)
    writer.identity(node)
    writer.word(mark.number)
    writer.identity(mark.id)
    writer.word(last.origin.rawValue)
    writer.word(last.seq)
    return writer.bytes
  }

  /// Of one node the later one counts; of one cut the one that names more.
  package func isLater(than other: Acknowledgement?) -> Bool {
    guard let other else { return true }
    return (mark, last) > (other.mark, other.last)
  }
}

/// What a node says by its signature.
package protocol Signable {
  func text(in site: Identity) -> [UInt8]
}
