import Replication
import Store

/// What the world does with an error of the storage: the same as the shell.
extension World {
  mutating func attempt(
    _ node: Int, _ link: Int?, _ side: Int, _ body: (inout World) throws -> Void
  ) {
    do {
      try body(&self)
    } catch {
      failed(error, node, link, side)
    }
  }

  private mutating func failed(_ error: any Error, _ node: Int, _ link: Int?, _ side: Int) {
    if nodes[node].replica.isGone {
      tell("\(Words.node(node)) dies in the middle of it")
      return kill(node)
    }
    tell("\(Words.node(node)) cannot go on: \(error)")
    let isWire = (error as? StoreError)?.code == .wire || error is WireError
    let isFair =
      link.map { !links[$0].isSpoilt && !links[$0].isMisunderstood && !hasLiar($0) } ?? true
    // A node that was not waited for may send something while the other one collects.
    let isCrossing = hasCollection && (error as? StoreError)?.code == .behind
    if !nodes[node].replica.hasTrouble, isFair, !isCrossing {
      history.blame("\(Words.node(node)): \(error)")
    }
    guard let link else { return }
    let bye = Bye(isWire ? .badMessage : isCrossing ? .other : .storage, "\(error)")
    // The machine ignores the one that does not fit what it is doing.
    feed(link, side, .mergeFailed(bye))
    feed(link, side, .exportFailed("\(error)"))
  }
}
