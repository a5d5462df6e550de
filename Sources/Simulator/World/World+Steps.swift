import Replication
import Store

/// What can happen next by itself.
extension World {
  /// Does one thing that can be done at this end, trying from a random kind on; false if nothing
  /// can.
  mutating func step(_ link: Int, _ side: Int) -> Bool {
    let first = random.below(5)
    for offset in 0..<5 {
      switch (first + offset) % 5 {
      case 0: if canDeliver(link, side) { deliver(link, from: side); return true }
      case 1:
        if let merge = links[link].sides[side].merge {
          commit(merge, at: links[link].nodes[side], link, side)
          return true
        }
      case 2:
        // To ask is to be sent rows, and before those come what was written here must be placed.
        if links[link].sides[side].mayPull, knowsTime(links[link].nodes[side]) {
          pull(link, side)
          return true
        }
      case 3:
        if let export = links[link].sides[side].export, export.id == nil,
          knowsTime(links[link].nodes[side])
        {
          open(export.scope, link, side)
          return true
        }
      default:
        if let export = links[link].sides[side].export, export.isWanted, let id = export.id {
          read(id, link, side)
          return true
        }
      }
    }
    return false
  }

  /// Whether something from this side may arrive now: what comes during a merge waits.
  private mutating func canDeliver(_ link: Int, _ side: Int) -> Bool {
    guard !links[link].sides[side].queue.isEmpty || links[link].sides[side].hasHungUp,
      links[link].sides[1 - side].merge == nil
    else { return false }
    if let stalled = collecting.stalled, stalled == (link, side) { return false }
    return isCalm
      || !links[link].sides[side].isBlocked && !random.chance(links[link].sides[side].slowness)
  }

  private mutating func pull(_ link: Int, _ side: Int) {
    links[link].sides[side].mayPull = false
    let ends = links[link].nodes
    let sender = nodes[ends[1 - side]].replica.id
    attempt(ends[side], link, side) { world in
      let edition = world.links[link].sides[side].session?.peer?.edition ?? 0
      let progress = try world.nodes[ends[side]].replica.progress(of: sender, edition: edition)
      world.feed(link, side, .mayPull(resume: progress))
    }
  }

  private mutating func open(_ scope: Session.ExportScope, _ link: Int, _ side: Int) {
    let node = links[link].nodes[side]
    attempt(node, link, side) { world in
      let filter = world.links[link].sides[side].session?.exportFilter ?? .none
      let opened = try world.use(node) { try $0.openExport(scope, filter, at: $1) }
      world.tell(
        "\(Words.node(node)) exports \(opened.rows) rows \(Words.scope(scope)), "
          + "covering \(Words.frontier(opened.covers))")
      world.links[link].sides[side].export?.id = opened.id
      world.folded(node, opened.fold)
      // An estimate beyond a thousand makes the receiver merge in slices.
      let isLong = world.random.chance(world.faults[.slices])
      let rows = opened.rows + (isLong ? 2_000 : 0)
      world.feed(
        link, side, .exportOpened(covers: opened.covers, rows: rows, judged: opened.judged))
    }
  }

  private mutating func read(_ id: Int64, _ link: Int, _ side: Int) {
    links[link].sides[side].export?.isWanted = false
    let node = links[link].nodes[side]
    attempt(node, link, side) { world in
      let now = world.now(node)
      switch try world.nodes[node].replica.readExport(id, at: now) {
      case .batch(let bytes, let rows, let check):
        world.feed(link, side, .exported(batch: bytes, rows: rows, check: check))
        if !world.links[link].sides[side].isCrowded { world.feed(link, side, .drained) }
      case .part(let bytes):
        world.feed(link, side, .exportedPart(bytes))
        if !world.links[link].sides[side].isCrowded { world.feed(link, side, .drained) }
      case .paused(let progress):
        world.tell("the export of \(Words.node(node)) pauses")
        world.history.hasPaused = true
        world.feed(link, side, .exportPaused(progress: progress))
      case .done: world.feed(link, side, .exportDone)
      }
    }
  }

  /// Merges, and tells the sessions in one order or the other.
  mutating func commit(_ merge: Merge, at node: Int, _ link: Int, _ side: Int) {
    let isStillThere = links[link].sides[side].merge != nil
    links[link].sides[side].merge = nil
    if isStillThere { feed(link, side, .heard) }
    // Edits of our own that are folded with a slice, as its commit is another than at End.
    if merge.end == nil, !isCalm, random.chance(250) { write(node) }
    attempt(node, link, side) { world in
      let held = world.hasRights ? try world.hidden(from: link, side) : nil
      let (result, fold) = try world.use(node) { try $0.merge(merge, at: $1) }
      if let held { try world.checkHidden(held, link, side) }
      let part = merge.end == nil ? "a slice of " : ""
      world.tell(
        "\(Words.node(node)) merges \(result.rows) rows, \(part)\(Words.kind(merge.kind))")
      let isFirst = world.random.chance(500)
      for step in 0...1 {
        if (step == 0) == isFirst {
          if isStillThere { world.feed(link, side, .merged(result)) }
        } else {
          world.folded(node, fold)
        }
      }
      // A slice need not be on disk yet, so this is when a power cut takes most.
      if merge.end == nil, (0..<3).contains(where: { _ in world.happens(.powerCut) }) {
        world.tell("\(Words.node(node)) loses power after a slice")
        world.cutPower(node)
      }
      world.dieBehind(node)
    }
  }

  /// The shell goes on with what one transaction has left; other things may come in between.
  mutating func goOnWorking(chance: Int) {
    guard plan != nil || hasCollection else { return }
    for node in nodes.indices where nodes[node].hasWork && nodes[node].isUp {
      guard plan?.random.chance(chance) ?? collecting.random.chance(chance) else { continue }
      nodes[node].hasWork = false
      fold(node)
    }
  }

  /// Folds until nothing waits, or for long enough.
  mutating func fold(_ node: Int) {
    attempt(node, nil, 0) { world in
      // An application may write faster than small slices are folded: the rest waits.
      var slices = 0
      while world.isCalm || slices < 100 {
        slices += 1
        guard try world.foldSlice(node), world.isPatient(node, after: slices) else { return }
      }
    }
  }

  /// False once a node has folded more slices in a row than any schedule has, and says that there
  /// is more: perhaps it makes what it folds, and would go on for ever.
  mutating func isPatient(_ node: Int, after slices: Int) -> Bool {
    guard slices >= 10_000 else { return true }
    history.blame("\(Words.node(node)) has folded \(slices) slices, and there is more")
    return false
  }

  /// True if more waits.
  mutating func foldSlice(_ node: Int) throws -> Bool {
    let fold = try use(node) { try $0.fold(at: $1) }
    if fold.versions > 0 { tell("\(Words.node(node)) folds \(fold.versions) versions") }
    folded(node, fold)
    return fold.hasMore
  }
}
