import SQLite

/// How the cost of a row changes: with the number of rows in a transaction, with the size of a row,
/// and with the number of nodes. These are the points of the plots.
enum Curves {
  static let measurement = Measurement(
    name: "curves", summary: "cost of a row by number of rows, by size and by nodes, for plots",
    body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    try byCount(extent, &report)
    try bySize(extent, &report)
    try byNodes(extent, &report)
  }

  private static func byCount(_ extent: Extent, _ report: inout Report) throws {
    let counts = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000]
    let partner = try PostgresPair.ifInstalled()
    var (bare, own, theirs): ([Plot.Point], [Plot.Point], [Plot.Point]) = ([], [], [])
    for count in extent.isQuick ? Array(counts.prefix(2)) : counts {
      let rounds = extent.isQuick ? 1 : count > 100_000 ? 1 : 3
      var speeds: (bare: [Double], own: [Double], theirs: [Double]) = ([], [], [])
      for _ in 0..<rounds {
        if let partner {
          try partner.clear()
          speeds.theirs.append(Double(count) / (try partner.insert(count)))
        }
        let transfer = try transfer((0..<count).map(FreshPair.row))
        speeds.bare.append(Double(count) / transfer.bare)
        speeds.own.append(Double(count) / transfer.all)
      }
      bare.append(Plot.Point(Double(count), Samples(speeds.bare)))
      own.append(Plot.Point(Double(count), Samples(speeds.own)))
      if partner != nil { theirs.append(Plot.Point(Double(count), Samples(speeds.theirs))) }
      report.figures.append(
        Figure("one transaction of \(Report.grouped(Double(count)))", "rows/s", speeds.own))
    }
    let others = theirs.isEmpty ? [] : [Plot.Series(name: "PostgreSQL, the same", points: theirs)]
    report.plots.append(
      Plot(
        name: "rows", title: "One transaction, until all rows are at the other node",
        x: Plot.Axis(label: "rows of the transaction", isLogarithmic: true),
        y: Plot.Axis(label: "rows a second", isLogarithmic: true),
        series: [
          Plot.Series(name: "from COMMIT to the other node", points: own),
          Plot.Series(name: "written by bare SQLite", points: bare),
        ] + others))
  }

  private static func bySize(_ extent: Extent, _ report: inout Report) throws {
    // Some ten MB each, of no more rows than a burst has.
    let sizes = [20, 100, 400, 1_600, 6_400, 25_600, 65_536]
    let total = extent.isQuick ? 500_000 : 10_000_000
    var (bare, own): ([Plot.Point], [Plot.Point]) = ([], [])
    for size in sizes {
      let count = min(extent.isQuick ? 500 : 50_000, total / size)
      var costs: (bare: [Double], own: [Double]) = ([], [])
      for _ in 0..<(extent.isQuick ? 1 : 3) {
        let transfer = try transfer(
          (0..<count).map { Items.row($0, key: Items.randomKey(), noteOf: size) })
        costs.bare.append(transfer.bare / Double(count) * 1e6)
        costs.own.append(transfer.all / Double(count) * 1e6)
      }
      bare.append(Plot.Point(Double(size), Samples(costs.bare)))
      own.append(Plot.Point(Double(size), Samples(costs.own)))
      report.figures.append(
        Figure("a row with a note of \(Report.grouped(Double(size))) bytes", "µs/row", costs.own))
    }
    report.plots.append(
      Plot(
        name: "sizes", title: "What a row costs, by its size",
        x: Plot.Axis(label: "bytes of the row's text", isLogarithmic: true),
        y: Plot.Axis(label: "µs a row", isLogarithmic: true),
        series: [
          Plot.Series(name: "from COMMIT to the other node", points: own),
          Plot.Series(name: "written by bare SQLite", points: bare),
        ]))
  }

  private static func transfer(_ rows: [[Value]]) throws -> Transfer {
    let files = try FreshPair()
    let transfer = try Transfer.inserts(files, rows)
    try files.pair.stop()
    return transfer
  }

  /// A burst at one of several nodes that are all connected, until each of them has it.
  private static func byNodes(_ extent: Extent, _ report: inout Report) throws {
    let count = extent.isQuick ? 200 : 10_000
    var (times, bytes): ([Plot.Point], [Plot.Point]) = ([], [])
    for nodes in extent.isQuick ? [2, 3] : Array(2...8) {
      let mesh = try BenchMesh(nodes: nodes, schema: Items.schema)
      var (seconds, sent): ([Double], [Double]) = ([], [])
      for round in 1...(extent.isQuick ? 1 : 3) {
        let passed = try spread(count, round, over: mesh)
        seconds.append(passed.seconds)
        sent.append(Double(passed.bytes) / Double(count * (nodes - 1)))
      }
      try mesh.stop()
      times.append(Plot.Point(Double(nodes), Samples(seconds.map { $0 * 1_000 })))
      bytes.append(Plot.Point(Double(nodes), Samples(sent)))
      report.figures += [
        Figure("\(nodes) nodes: until all have \(count) rows", "s", seconds),
        Figure("\(nodes) nodes: on the wire, for each receiver", "B/row", sent),
      ]
    }
    let nodes = Plot.Axis(label: "nodes, each connected with each", isLogarithmic: false)
    let rows = "\(Report.grouped(Double(count))) rows of one transaction"
    report.plots += [
      Plot(
        name: "nodes", title: "\(rows), until every node has them", x: nodes,
        y: Plot.Axis(label: "ms from COMMIT", isLogarithmic: false),
        series: [Plot.Series(name: "all nodes on this machine", points: times)]),
      Plot(
        name: "bytes", title: "\(rows): bytes on the wire, TLS included", x: nodes,
        y: Plot.Axis(label: "bytes a row and receiver", isLogarithmic: false),
        series: [Plot.Series(name: "all connections together", points: bytes)]),
    ]
  }

  private static func spread(
    _ count: Int, _ round: Int, over mesh: BenchMesh
  ) throws -> (seconds: Double, bytes: Int) {
    let writer = try mesh.replicas[0].connect()
    var readers = try mesh.replicas.dropFirst().map { try $0.connect() }
    try writer.execute("PRAGMA synchronous = NORMAL")
    let rows = (0..<count).map(FreshPair.row)
    // Who has come last may still be connecting.
    Clock.sleep(.seconds(2))
    let before = try mesh.bytes()
    Disk.settle()
    try writer.execute("BEGIN IMMEDIATE")
    for row in rows { try writer.run(Items.insert, row) }
    let start = Clock.now
    try writer.execute("COMMIT")
    try Clock.wait("all nodes", within: .seconds(120)) {
      while let reader = readers.last,
        try reader.scalar("SELECT max(rowid) FROM item").integer ?? 0 >= Int64(round * count),
        try reader.scalar("SELECT count(*) FROM item").integer == Int64(round * count)
      {
        readers.removeLast()
      }
      return readers.isEmpty
    }
    let time = (Clock.now - start).seconds
    try mesh.waitUntilEqual()
    Clock.sleep(.seconds(1))
    return (time, try mesh.bytes() - before)
  }
}
