import Foundation
import Glibc
import SQLite

/// Changes told to programs: how soon, to how many, and what that costs the node.
enum Feed {
  static let measurement = Measurement(
    name: "feed", summary: "commits until followers of the gateway are told", body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let commits = extent.isQuick ? 20 : 100
    let folder = try Workplace()
    let sync = Samples(try Disk.syncTimes(in: folder.folder, count: 50)).median
    report.figures = [Figure("4 KiB and fdatasync on this disk", "ms", sync)]
    for count in [1, extent.isQuick ? 20 : 200] {
      let served = try ServedReplica(schema: Items.schema, followed: true)
      let told = try told(served, to: count, of: commits)
      try served.replica.stop()
      let who = count == 1 ? "one follower" : "\(count) followers"
      let limit = count == 1 ? sync + 3 : 10
      report.figures.append(
        Figure("\(who): commit to the last one's event", "ms", told.milliseconds)
          .target(.median, atMost: limit))
      if count > 1 {
        report.figures.append(
          Figure("\(who): resident memory of each", "KiB", told.kibibytes)
            .target(.median, atMost: 40))
      }
    }
    report.figures += try cost(rows: extent.isQuick ? 5_000 : 100_000, extent.isQuick ? 1 : 3)
  }

  private static func told(
    _ served: ServedReplica, to count: Int, of commits: Int
  ) throws -> (milliseconds: [Double], kibibytes: Double) {
    let node = try served.facts
    let half = count / 2
    var memory = 0.0
    var followers: [HTTPClient] = []
    for number in 0..<count {
      // The first ones also pay for what all of them share.
      if number == half {
        Clock.sleep(.seconds(1))
        memory = node.residentKiB
      }
      let follower = try HTTPClient(served.address, token: served.token)
      try follower.send(
        "GET", "/v1/\(served.name)/changes", more: ["Accept: text/event-stream"])
      var text = ""
      while !text.contains("event: begin") {
        text += String(decoding: try follower.read(), as: UTF8.self)
        guard "HTTP/1.1 200".hasPrefix(text.prefix(12)) else { throw BenchError(text) }
      }
      followers.append(follower)
    }
    Clock.sleep(.seconds(1))
    let each = (node.residentKiB - memory) / Double(max(1, count - half))
    let connection = try served.replica.connect()
    try connection.execute("PRAGMA synchronous = NORMAL")
    var milliseconds: [Double] = []
    for number in 0..<commits {
      let name = "follow-\(number)-end"
      try connection.run(
        "INSERT INTO item(id, name) VALUES (?, ?)", [.blob(Items.randomKey()), .string(name)])
      milliseconds.append(try waitForAll(followers, name, since: Clock.now))
      Clock.sleep(.milliseconds(50))
    }
    return (milliseconds, each)
  }

  /// Reads until each follower has heard of a row; milliseconds until then.
  private static func waitForAll(
    _ followers: [HTTPClient], _ name: String, since start: Int64
  ) throws -> Double {
    let word = Data("\"\(name)\"".utf8)
    var heard = [Data](repeating: Data(), count: followers.count)
    var waiting = followers.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    var left = followers.count
    while left > 0 {
      guard poll(&waiting, nfds_t(waiting.count), 30_000) > 0 else {
        throw BenchError("\(left) followers were not told of \(name)")
      }
      for index in waiting.indices where waiting[index].revents != 0 {
        heard[index] += try followers[index].read()
        guard heard[index].range(of: word) != nil else { continue }
        waiting[index].fd = -1
        left -= 1
      }
    }
    return (Clock.now - start).milliseconds
  }

  /// Processor time of the node for many rows, without and with a log of changes, in turn.
  private static func cost(rows: Int, _ rounds: Int) throws -> [Figure] {
    var seconds: [[Double]] = [[], []]
    for _ in 0..<rounds {
      for isFollowed in [false, true] {
        let served = try ServedReplica(schema: Items.schema, followed: isFollowed)
        let node = try served.facts
        Clock.sleep(.seconds(1))
        let before = node.cpuSeconds
        let connection = try served.replica.connect()
        try connection.transaction { () throws(SQLiteError) in
          for number in 0..<rows {
            try connection.run(Items.insert, Items.row(number, key: Items.randomKey()))
          }
        }
        try served.replica.settle()
        try connection.execute("UPDATE item SET quantity = quantity + 1")
        try served.replica.settle()
        seconds[isFollowed ? 1 : 0].append(node.cpuSeconds - before)
        try served.replica.stop()
      }
    }
    return [
      Figure("\(rows) rows and one UPDATE: the node's processor, no log", "s", seconds[0]),
      Figure("the same with a log of changes", "s", seconds[1]),
      Figure("ratio", "", Samples(seconds[1]).median / Samples(seconds[0]).median)
        .target(.median, atMost: 1.05),
    ]
  }
}
