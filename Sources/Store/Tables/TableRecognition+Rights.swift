import Replication

extension TableRecognition {
  /// Whether nobody was granted another right to one of two tables than to the other.
  ///
  /// Rights go by the name of a table. If a member could say that one is the other, who may not
  /// read it would be sent it under that name.
  func areGrantedAlike(_ one: String, _ other: String) throws(StoreError) -> Bool {
    // By table and node; of several grants the last one stands.
    var (rights, times): ([String: String], [String: Int64]) = ([:], [:])
    var nodes: Set<String> = []
    var gone: Set<String> = []
    func name(_ node: Identity) -> String { "\(node.high) \(node.low)" }
    for signed in try members.statements() {
      let statement = signed.statement
      switch statement.kind {
      case .grant(let node, let table, let right):
        let key = "\(folded(table)) \(name(node))"
        guard statement.time >= times[key, default: .min] else { continue }
        (rights[key], times[key]) = ("\(right.rawValue)", statement.time)
        nodes.insert(name(node))
      case .revoke(let node, _): gone.insert(name(node))
      default: break
      }
    }
    return nodes.allSatisfy { node in
      gone.contains(node)
        || rights["\(folded(one)) \(node)"] == rights["\(folded(other)) \(node)"]
    }
  }
}
