@testable import Replication

extension SessionDriver {
  /// One message of the peer: any, or one that leads further than random bytes would.
  mutating func peerStep(_ kind: UInt8) throws(WireError) {
    switch kind {
    case 0:
      let frame = try reader.blob("frame", limit: Limits.frame)
      do throws(WireError) {
        hear(try Message(frame: frame))
      } catch {
        feed(.close(Bye(.badMessage, error.description)))
      }
    case 1: hear(.hello(Self.hello(node: Identity(high: 0, low: try reader.uint("node")))))
    case 2: hear(.hello(Self.hello(node: Identity(high: 0, low: 20), purpose: .join)))
    case 3:
      let flags = try reader.byte("flags")
      let equal = flags & 2 != 0
      hear(
        .have(
          Have(
            frontier: try frontier(),
            frontierHash: equal ? session.position.frontier.hash : 1,
            rootDigest: UInt64(flags >> 2),
            resume: flags & 4 != 0 ? try frontier() : Frontier(), asks: flags & 1 != 0)))
    case 4: begin(.full(covers: try frontier()), rows: try reader.uint("rows"))
    case 5:
      let (origin, from) = (Origin(rawValue: try reader.uint("origin")), try reader.uint("from"))
      guard from < 1 << 62 else { return }
      begin(.push(origin: origin, from: from, to: from + 1), rows: 1)
    case 6: begin(.repair, rows: try reader.uint("rows"))
    case 7: hear(.part(number: session.order.heard, [UInt8](repeating: 0, count: try size())))
    case 8: hear(.rows(number: session.order.heard, [UInt8](repeating: 0, count: try size())))
    case 9: hear(.end(End(rows: 0, check: 0)))
    case 10: hear(.pause(End(rows: 0, check: 0)))
    case 11:
      var sums = session.position.digest.buckets
      sums[Int(try reader.byte("bucket"))] &+= 1
      guard let digest = Digest(buckets: sums) else { return }
      hear(.buckets(Buckets(frontierHash: session.position.frontier.hash, digest: digest)))
    case 12: hear(.ping(sent: try reader.clock("clock"), ClockView(wall: 5)))
    case 13: hear(.pong(echo: now.uptime - 5, ClockView(wall: try reader.clock("clock"))))
    case 14: hear(.join(Self.join))
    case 15: hear(.statements([]))
    default: hear(.bye(Bye(.stopping, "")))
    }
  }

  private mutating func begin(_ kind: Begin.Kind, rows: UInt64) {
    hear(.begin(Begin(kind, rows: rows, number: session.order.heard)))
  }

  /// One thing that the node, the store or the stream does.
  mutating func shellStep(_ kind: UInt8) throws(WireError) {
    switch kind {
    case 0: feed(.connected)
    case 1: feed(.merged(MergeResult(rows: 1, check: 2)))
    case 2: feed(.mergeFailed(Bye(.storage, "")))
    case 3: feed(.advanced(try advanced()))
    case 4:
      let seq = session.position.frontier[Self.own]
      let batch = [UInt8](repeating: 0, count: try size())
      feed(
        .folded(
          Push(origin: Self.own, from: seq, to: seq + 1, batch: batch, rows: 1, check: 3)))
    case 5: feed(.mayPull(resume: try frontier()))
    case 6: feed(.ask)
    case 7: feed(.exportOpened(covers: session.position.frontier, rows: 3))
    case 8:
      // A store hands over no more than fits one frame.
      let count = min(try size(), Limits.piece)
      feed(.exported(batch: [UInt8](repeating: 0, count: count), rows: 1, check: 1))
    case 9: feed(.exportDone)
    case 10: feed(.exportPaused(progress: try frontier()))
    case 11: feed(.exportFailed(""))
    case 12: feed(.drained)
    case 13: feed(.tick)
    case 14:
      let passed = Int64(try reader.uint("time") % 100_000)
      now.uptime += passed
      now.wall += passed
      feed(.tick)
    case 15: feed(.heard)
    case 16: feed(.introduce([Member(node: Self.site, name: "a", addresses: ["b"])]))
    case 17:
      let offer = Offer(siteName: "s", rows: 1, objects: 1)
      feed(.offer(offer, [SchemaObject(kind: .table, name: "t", sql: "CREATE TABLE t(a)")]))
      feed(.admitted(Admit(rootKey: Self.join.key, nodeName: "n", statements: [])))
    case 18: feed(.close(Bye(.other, "")))
    default: feed(.disconnected(""))
    }
  }

  /// The store has merged what was sent: its frontier takes it in, within its limit.
  private mutating func advanced() throws(WireError) -> Position {
    var position = session.position
    let joined = position.frontier.joined(session.merged)
    if joined.entries.count <= Limits.frontierEntries { position.frontier = joined }
    let own = position.frontier[Self.own]
    position.frontier.raise(Self.own, to: own + UInt64(try reader.byte("edits")))
    position.age += 1
    return position
  }
}
