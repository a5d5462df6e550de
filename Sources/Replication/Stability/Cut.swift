/// A frontier that every member is asked to hold.
package struct Cut: Sendable, Equatable {
  package var mark: Mark
  /// The cut that everybody held when this one was made; its id is none if nobody could hold it.
  package var previous: Mark
  package var frontier: Frontier

  /// For how long somebody who does not hold a cut waits for it before it makes another one, in ms.
  package static let patience: Int64 = 7 * 86_400_000

  package init(mark: Mark, previous: Mark, frontier: Frontier) {
    self.mark = mark
    self.previous = previous
    self.frontier = frontier
  }

  /// The cut that follows another one.
  package init(after previous: Mark, _ frontier: Frontier, _ digest: ([UInt8]) -> Identity) {
    self.init(
      mark: Mark(number: previous.number + 1, id: .none), previous: previous, frontier: frontier)
    mark.id = digest(text)
  }

  /// What the id of its mark is the hash of. Nothing else that is hashed begins like this.
  private var text: [UInt8] {
    var writer = ByteWriter()
    writer.raw(Array("FLOTILLA cut 2\n".utf8))
    writer.word(mark.number)
    writer.identity(previous.id)
    writer.frontier(frontier)
    return writer.bytes
  }

  /// Whether its mark is that of what is in it: whoever signs for the mark signs for this.
  package func isNamed(by digest: ([UInt8]) -> Identity) -> Bool {
    mark.number == previous.number + 1 && mark.id == digest(text)
  }
}
