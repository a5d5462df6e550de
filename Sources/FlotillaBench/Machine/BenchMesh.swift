import SQLite

/// Nodes of one site on loopback, each connected with each.
final class BenchMesh {
  let place: Workplace
  private(set) var replicas: [BenchReplica] = []

  init(nodes: Int, schema: String) throws {
    place = try Workplace()
    let first = try BenchReplica("n1", in: place)
    try Connection(path: first.path, mode: .create).execute(schema)
    try first.initialise()
    try first.run()
    replicas.append(first)
    for number in 2...max(2, nodes) {
      let newcomer = try BenchReplica("n\(number)", in: place)
      _ = try newcomer.join(first)
      try newcomer.run(more: replicas.flatMap { ["--peer", $0.address] })
      replicas.append(newcomer)
    }
    try waitUntilEqual()
  }

  func waitUntilEqual() throws {
    let connections = try replicas.map { try $0.connect() }
    try Clock.wait("equality", within: .seconds(60)) {
      let frontiers = try zip(replicas, connections).map { try $0.frontier($1) }
      return frontiers.allSatisfy { $0 == frontiers[0] }
    }
  }

  /// What has passed over all connections so far; both ends of each are here, and one is counted.
  func bytes() throws -> Int {
    try SocketFacts.bytes(to: replicas.map(\.address), in: place)
  }

  func stop() throws { for replica in replicas.reversed() { try replica.stop() } }
}
