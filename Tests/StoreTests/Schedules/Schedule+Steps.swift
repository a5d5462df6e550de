import Replication
import SQLite

@testable import Store

extension Schedule {
  /// Something that can happen next by itself.
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
        if export.id == nil { steps.append(.open(pair, side)) }
        if export.isWanted { steps.append(.read(pair, side)) }
      }
    }
    return steps
  }

  mutating func perform(_ step: Step) throws {
    switch step {
    case .deliver(let pair, let side):
      guard let frame = links[pair]?.sides[side].queue.removeFirst() else { return }
      var buffer = FrameBuffer(limit: Limits.frame)
      buffer.append(frame)
      guard let body = try buffer.next() else { preconditionFailure("a broken frame") }
      feed(pair, 1 - side, .received(try Message(frame: body)))
    case .merge(let pair, let side):
      if let merge = links[pair]?.sides[side].merge { try commit(merge, at: pair[side]) }
    case .pull(let pair, let side):
      links[pair]?.sides[side].mayPull = false
      let sender = nodes[pair[1 - side]].replica.store.node
      let progress = try nodes[pair[side]].replica.store.progress(of: sender)
      if !progress.isEmpty { tell("resume \(pair[side]) from \(pair[1 - side]): \(progress)") }
      feed(pair, side, .mayPull(resume: progress))
    case .open(let pair, let side): try open(pair, side)
    case .read(let pair, let side): try read(pair, side)
    }
  }

  private mutating func open(_ pair: [Int], _ side: Int) throws {
    guard let export = links[pair]?.sides[side].export else { return }
    let node = pair[side]
    let opened = try take(node) { try $0.openExport(export.scope, at: $1) }
    tell("export \(pair) from \(node): \(opened.rows) rows, \(export.scope), \(opened.covers)")
    links[pair]?.sides[side].export?.id = opened.id
    folded(node, opened.fold)
    // An estimate beyond a thousand makes the receiver merge in slices.
    let rows = opened.rows + (random.chance(40) ? 2_000 : 0)
    feed(pair, side, .exportOpened(covers: opened.covers, rows: rows))
  }

  private mutating func read(_ pair: [Int], _ side: Int) throws {
    guard let id = links[pair]?.sides[side].export?.id else { return }
    links[pair]?.sides[side].export?.isWanted = false
    switch try nodes[pair[side]].replica.store.readExport(id, at: now(pair[side])) {
    case .batch(let batch):
      feed(pair, side, .exported(batch: batch.bytes, rows: batch.rows, check: batch.check))
      feed(pair, side, .drained)
    case .paused(let progress):
      tell("pause \(pair) \(side)")
      feed(pair, side, .exportPaused(progress: progress))
    case .done: feed(pair, side, .exportDone)
    }
  }

  mutating func pass(_ milliseconds: Int64) {
    uptime += milliseconds
    for pair in pairs { for side in 0...1 { feed(pair, side, .tick) } }
  }

  /// Random life: edits, deliveries, cuts, kills, migrations.
  mutating func live(steps count: Int) throws {
    for _ in 0..<count {
      let node = random.below(nodes.count)
      switch random.below(100) {
      case 0..<10: try write(node)
      case 10..<14: try fold(node)
      case 14..<17: try cut(random.pick(pairs))
      case 17..<25: connect(random.pick(pairs))
      case 25..<33: pass(Int64(random.below(40)))
      case 33: feed(node: node, .ask)
      case 34: if random.chance(40) { try kill(node) }
      case 35: if random.chance(50) { try migrate(node) }
      case 36: if random.chance(30) { try trackAll(node) }
      default: if let step = steps.randomElement(using: &random) { try perform(step) }
      }
    }
  }

  /// All links are up and nothing fails any more; true once nothing but pings is said.
  mutating func settle() throws -> Bool {
    isCalm = true
    for table in tables {
      for node in nodes.indices {
        // Who has not got the settings yet has no business with the table.
        for addition in ScheduleTable.additions
        where nodes.contains(where: { $0.extra[table.name]?.contains(addition) == true }) {
          try add(addition, to: table, node)
        }
      }
    }
    try trackAll(random.below(nodes.count))
    for node in nodes.indices { try foldAll(node) }
    for pair in pairs { connect(pair) }
    lastMessage = uptime
    let start = uptime
    while uptime - lastMessage < 10_000 {
      guard uptime - start < 600_000 else { return false }
      for _ in 0..<5_000 {
        guard let step = steps.randomElement(using: &random) else { break }
        try perform(step)
      }
      let deadlines = links.values.flatMap { $0.sides.map(\.session.deadline) }
      pass(min(5_000, max(1, (deadlines.min() ?? 0) - uptime)))
      for pair in pairs { connect(pair) }
    }
    return true
  }

  mutating func fold(_ node: Int) throws {
    let fold = try take(node) { try $0.fold(at: $1) }
    if fold.versions > 0 { tell("fold at \(node): \(fold.versions), more \(fold.hasMore)") }
    folded(node, fold)
  }

  mutating func foldAll(_ node: Int) throws {
    while true {
      let fold = try take(node) { try $0.fold(at: $1) }
      folded(node, fold)
      guard fold.hasMore else { return }
    }
  }
}
