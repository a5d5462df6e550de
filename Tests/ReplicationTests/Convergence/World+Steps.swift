import Replication

extension World {
  /// Something that can happen next.
  enum Step {
    case deliver([Int], Int)
    case merge([Int], Int)
    case pull([Int], Int)
    case open([Int], Int)
    case read([Int], Int)
  }

  var steps: [Step] {
    var steps: [Step] = []
    for pair in pairs {
      guard let link = links[pair] else { continue }
      for side in 0...1 {
        let it = link.sides[side]
        // What arrives during a merge waits.
        if !it.queue.isEmpty, link.sides[1 - side].merge == nil {
          steps.append(.deliver(pair, side))
        }
        if it.merge != nil { steps.append(.merge(pair, side)) }
        if it.mayPull { steps.append(.pull(pair, side)) }
        guard let export = it.export else { continue }
        if !export.isOpened { steps.append(.open(pair, side)) }
        if export.isWanted { steps.append(.read(pair, side)) }
      }
    }
    return steps
  }

  mutating func perform(_ step: Step) {
    switch step {
    case .deliver(let pair, let side):
      guard let frame = links[pair]?.sides[side].queue.removeFirst() else { return }
      var buffer = FrameBuffer(limit: Limits.frame)
      buffer.append(frame)
      guard let body = try? buffer.next(), let message = try? Message(frame: body) else {
        preconditionFailure("a broken frame")
      }
      feed(pair, 1 - side, .received(message))
    case .merge(let pair, let side):
      if let merge = links[pair]?.sides[side].merge { commit(merge, at: pair[side]) }
    case .pull(let pair, let side):
      links[pair]?.sides[side].mayPull = false
      let sender = replicas[pair[1 - side]].id
      feed(pair, side, .mayPull(resume: replicas[pair[side]].progress[sender] ?? Frontier()))
    case .open(let pair, let side): open(pair, side)
    case .read(let pair, let side): read(pair, side)
    }
  }

  private mutating func open(_ pair: [Int], _ side: Int) {
    guard let export = links[pair]?.sides[side].export else { return }
    links[pair]?.sides[side].export?.isOpened = true
    // An estimate beyond a thousand makes the receiver merge in slices.
    let rows = UInt64(export.rows.count) + (slices && random.chance(40) ? 2_000 : 0)
    feed(pair, side, .exportOpened(covers: export.covers, rows: rows))
  }

  private mutating func read(_ pair: [Int], _ side: Int) {
    guard var export = links[pair]?.sides[side].export else { return }
    export.isWanted = false
    if export.isDone {
      feed(pair, side, .exportDone)
    } else if export.next > 0, slices, !isCalm, random.chance(15) {
      feed(pair, side, .exportPaused(progress: export.progress))
    } else {
      let batch = export.batch()
      links[pair]?.sides[side].export = export
      feed(pair, side, batch)
      feed(pair, side, .drained)
    }
  }

  mutating func pass(_ milliseconds: Int64) {
    now.uptime += milliseconds
    now.wall += milliseconds
    for pair in pairs { for side in 0...1 { feed(pair, side, .tick) } }
  }

  /// Random life: edits, deliveries, cuts, restarts.
  mutating func live(steps count: Int) {
    for _ in 0..<count {
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<8: edit(Int.random(in: 0..<replicas.count, using: &random))
      case 8..<12: cut(pairs.randomElement(using: &random)!)
      case 12..<20: connect(pairs.randomElement(using: &random)!)
      case 20..<30: pass(Int64.random(in: 0...40, using: &random))
      case 30: tell(Int.random(in: 0..<replicas.count, using: &random), .ask)
      default: if let step = steps.randomElement(using: &random) { perform(step) }
      }
    }
  }

  /// All links are up and nothing fails any more; true once nothing but pings is said.
  mutating func settle() -> Bool {
    isCalm = true
    for pair in pairs { connect(pair) }
    lastMessage = now.uptime
    let start = now.uptime
    while now.uptime - lastMessage < 10_000 {
      guard now.uptime - start < 300_000 else { return false }
      while let step = steps.randomElement(using: &random) { perform(step) }
      let deadlines = links.values.flatMap { $0.sides.map(\.session.deadline) }
      pass(max(1, (deadlines.min() ?? 0) - now.uptime))
    }
    return true
  }

  /// Whether every node shows the same rows and knows that nothing is missing.
  var isConverged: Bool {
    let alive = replicas.indices.filter { $0 != lost }.map { replicas[$0] }
    return alive.allSatisfy {
      $0.rows == alive[0].rows && $0.frontier == alive[0].frontier
        && $0.digest == alive[0].digest && $0.wrongEnds == 0
    }
  }
}
