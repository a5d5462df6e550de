import SQLite

/// Two hosts on a LAN of namespaces: from the end of a cut until they are equal, and from the
/// start of a node until it has found its peer through Avahi.
enum Heal {
  static let measurement = Measurement(
    name: "heal", summary: "a LAN that is cut and healed; finding through Avahi", body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let place = try Workplace()
    if let obstacle = Lab.obstacle(in: place) {
      report.notes.append("skipped: \(obstacle)")
      return
    }
    let lab = try Lab(hosts: 2, in: place)
    let paths = [lab.database(of: 1), lab.database(of: 2)]
    try Connection(path: paths[0], mode: .create).execute(WriteRole.schema)
    try lab.flotilla(1, "init", "site.db", "--site", "Bench", "--name", "one", "--all")
    try lab.flotilla(1, "run", "site.db", "--background")
    let code = try lab.flotilla(1, "invite", "site.db")
    try lab.flotilla(2, "join", "site.db", code, "--name", "two")
    try lab.flotilla(2, "run", "site.db", "--background")
    let files = try paths.map { path in
      let connection = try Connection(path: path)
      connection.setBusyTimeout(milliseconds: 5_000)
      return connection
    }
    var marks = Marks(files: files)
    _ = try marks.exchange(within: .seconds(30)) {}

    try heal(lab, &marks, extent, &report)
    try find(lab, &marks, extent, &report)
    for host in 1...2 { try lab.flotilla(host, "stop", "site.db") }
  }

  private static func heal(
    _ lab: Lab, _ marks: inout Marks, _ extent: Extent, _ report: inout Report
  ) throws {
    var cuts: [(name: String, length: Duration, count: Int)] = [("1 s", .seconds(1), 3)]
    if !extent.isQuick { cuts.append(("60 s", .seconds(60), 2)) }
    if extent == .long { cuts.append(("10 min", .seconds(600), 1)) }
    for cut in cuts {
      var times: [Double] = []
      for _ in 0..<cut.count {
        Clock.sleep(.seconds(2))
        try lab.command("cut", "2")
        Clock.sleep(cut.length / 2)
        times.append(
          try marks.exchange(within: .seconds(120)) {
            Clock.sleep(cut.length / 2)
            try lab.command("heal", "2")
          })
      }
      report.figures.append(
        Figure("equal after a cut of \(cut.name)", "s", times).target(.maximum, atMost: 5))
    }
  }

  /// Both nodes start anew on other ports, so that only Avahi can tell where they are; the second
  /// host's daemon starts anew as well, so that it remembers nothing.
  private static func find(
    _ lab: Lab, _ marks: inout Marks, _ extent: Extent, _ report: inout Report
  ) throws {
    var times: [Double] = []
    var starts: [Double] = []
    for round in 0..<(extent.isQuick ? 1 : 5) {
      for host in 1...2 { try lab.flotilla(host, "stop", "site.db") }
      let ports = (20_000 + round * 2, 20_001 + round * 2)
      try lab.flotilla(1, "run", "site.db", "--background", "--listen", ":\(ports.0)")
      try lab.command("restart-avahi", "2")
      Clock.sleep(.seconds(2))
      let begin = Clock.now
      var ready = begin
      _ = try marks.exchange(within: .seconds(60)) {
        try lab.flotilla(2, "run", "site.db", "--background", "--listen", ":\(ports.1)")
        ready = Clock.now
      }
      times.append((Clock.now - begin).seconds)
      starts.append((ready - begin).seconds)
    }
    report.figures += [
      Figure("start to equal through Avahi", "s", times).target(.maximum, atMost: 3),
      Figure("of this, until the node was ready", "s", starts),
    ]
  }
}

/// Rows by which one sees from outside that two files are equal.
private struct Marks {
  let files: [Connection]
  private var last: Int64 = 0

  init(files: [Connection]) { self.files = files }

  /// Commits a row to each file, lets `mend` make a connection possible, and waits until each
  /// file has both; gives the seconds since `mend` was done.
  mutating func exchange(within limit: Duration, _ mend: () throws -> Void) throws -> Double {
    for file in files {
      last += 1
      try file.run("INSERT INTO mark VALUES (?, 'bench')", [.integer(last)])
    }
    try mend()
    let start = Clock.now
    let wanted = last
    try Clock.wait("both rows in both files", within: limit) {
      try files.allSatisfy { file in
        try file.scalar("SELECT count(*) FROM mark").integer == wanted
      }
    }
    return (Clock.now - start).seconds
  }
}
