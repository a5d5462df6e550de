import Replication

/// How stories speak of what is sent.
enum Words {
  /// What a node is called.
  static func node(_ number: Int) -> String { "node-\(number)" }

  /// A frontier, by the names of the nodes.
  static func frontier(_ frontier: Frontier) -> String {
    let parts = frontier.sorted.map { origin, seq in
      return "\(self.origin(origin)) to \(seq)"
    }
    return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
  }

  /// The node that writes under an origin, with a stroke for each life before.
  static func origin(_ origin: Origin) -> String {
    for number in 0..<8 {
      for life in 0..<8 where Templates.origin(of: number, life: UInt64(life)) == origin {
        return node(number) + String(repeating: "'", count: life)
      }
    }
    return "\(origin)"
  }

  /// The node alone, in whatever life.
  static func author(_ origin: Origin) -> Substring {
    self.origin(origin).prefix { $0 != "'" }
  }

  static func dot(_ dot: Dot) -> String {
    "\(origin(dot.origin)):\(dot.seq)"
  }

  static func version(_ version: Version) -> String {
    let rank = "term \(version.term.number) epoch \(version.epoch)"
    let word = version.certificate.map { "certifies \(dot($0.edit))" } ?? "tentative"
    let context = version.context.dots.map(dot).joined(separator: " ")
    return "\(dot(version.dot)) \(rank) \(word) after \(context)"
  }

  static func rights(_ rights: Rights) -> String {
    (["\(rights.general) all"]
      + rights.tables.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" })
      .joined(separator: ", ")
  }

  static func scope(_ scope: Session.ExportScope) -> String {
    switch scope {
    case .above(let frontier): "above \(Words.frontier(frontier))"
    case .unsent(let frontier, _): "not yet sent, above \(self.frontier(frontier))"
    case .buckets(let buckets): "of buckets \(buckets)"
    case .rows(let names): "of \(names.count) rows by name"
    case .bucket(let bucket, _): "of the rest of bucket \(bucket)"
    }
  }

  static func kind(_ kind: Begin.Kind) -> String {
    switch kind {
    case .full(let covers): "an exchange that covers \(frontier(covers))"
    case .push(let origin, let from, let to):
      "a push of \(frontier(Frontier([origin: to]))) after \(from)"
    case .repair: "a repair"
    }
  }
}
