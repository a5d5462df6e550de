import SQLite

/// Two replicas on loopback that are connected and equal.
struct Pair {
  let place: Workplace
  let first: BenchReplica
  let second: BenchReplica

  init(schema: String) throws {
    place = try Workplace()
    first = try BenchReplica("a", in: place)
    second = try BenchReplica("b", in: place)
    try Connection(path: first.path, mode: .create).execute(schema)
    try first.initialise()
    try first.run()
    _ = try second.join(first)
    try second.run(peer: first.address)
    try waitUntilEqual(within: .seconds(30))
  }

  func waitUntilEqual(within limit: Duration) throws {
    let (one, two) = (try first.connect(), try second.connect())
    try Clock.wait("equality", within: limit) {
      try first.frontier(one) == second.frontier(two)
    }
  }

  func stop() throws {
    try second.stop()
    try first.stop()
  }
}
