import Replication
import Store

/// Who is the anchor in the world, and what its nodes know of that.
extension World {
  /// Perhaps something happens to the office; drawn apart from the rest of life.
  mutating func liveOffice() {
    guard var plan else { return }
    defer { self.plan?.random = plan.random }
    let node = plan.random.below(nodes.count)
    guard nodes[node].isUp else { return }
    guard let latest = nodes[node].appointments.last else {
      guard !isFounded, plan.random.chance(plan.start) else { return }
      isFounded = true
      // Now and then two people have the same idea.
      if let first = other(&plan) {
        appoint(first, isForced: plan.random.chance(300), by: node, &plan)
      }
      return
    }
    let anchor = nodes.indices.first { nodes[$0].replica.id == latest.node }
    for event in OfficePlan.Event.allCases where plan.random.chance(plan[event]) {
      switch event {
      case .handOver, .takeOver:
        if let next = other(&plan) {
          appoint(next, isForced: event == .takeOver, by: node, &plan)
        }
      case .abolition: appoint(nil, isForced: plan.random.chance(300), by: node, &plan)
      case .reappointment:
        if let anchor { appoint(anchor, isForced: plan.random.chance(300), by: node, &plan) }
      case .rivalry: rival(node, &plan)
      case .kill:
        if let anchor, nodes[anchor].isUp {
          tell("kill the anchor, \(Words.node(anchor))")
          kill(anchor, startsAfter: Int64(plan.random.chance(500) ? 0 : plan.random.below(20_000)))
        }
      case .newRule: if rights(of: node, at: node).isWhole { setRule(at: node, &plan) }
      }
      guard nodes[node].isUp else { return }
    }
  }

  private func other(_ plan: inout OfficePlan) -> Int? {
    let able = nodes.indices.filter { !nodes[$0].isDead && mayJudge($0) }
    return able.isEmpty ? nil : plan.random.pick(able)
  }

  /// Two appoint each its own while they do not hear of each other.
  private mutating func rival(_ node: Int, _ plan: inout OfficePlan) {
    let second = plan.random.below(nodes.count)
    guard second != node, nodes[second].isUp else { return }
    for link in links.indices where plan.random.chance(700) {
      cut(link)
      links[link].isParted = true
    }
    guard nodes[node].isUp, nodes[second].isUp else { return }
    let choices = [other(&plan), other(&plan)].compactMap { $0 }
    let made = zip([node, second], choices).map { by, choice in
      appointment(choice, isForced: plan.random.chance(500), by: by, &plan)
    }
    for (by, appointment) in zip([node, second], made) { hear([appointment], at: by) }
  }

  private mutating func appoint(
    _ choice: Int?, isForced: Bool, by node: Int, _ plan: inout OfficePlan
  ) {
    if choice == node { becomeSure(node) }
    hear([appointment(choice, isForced: isForced, by: node, &plan)], at: node)
  }

  private func appointment(
    _ choice: Int?, isForced: Bool, by node: Int, _ plan: inout OfficePlan
  ) -> Appointment {
    let number = (nodes[node].appointments.last?.term.number ?? 0) + 1
    return Appointment(
      term: Term(number: number, incarnation: plan.random.next()),
      node: choice.map { nodes[$0].replica.id }, isForced: isForced)
  }

  private mutating func setRule(at node: Int, _ plan: inout OfficePlan) {
    let rule = plan.random.pick(MergeRules.all).name
    let number = plan.random.below(16)
    guard knowsTime(node) else { return }
    tell("\(Words.node(node)) gives a table the rule \(rule)")
    attempt(node, nil, 0) { world in
      try world.use(node) { try $0.setRule(rule, ofTable: number, at: $1) }
      world.folded(node, FoldResult(versions: 0, push: nil, hasMore: true))
    }
  }

  /// A node hears of appointments: it keeps them, follows the last one, and tells its peers.
  mutating func hear(_ appointments: [Appointment], at node: Int) {
    let new = appointments.filter { other in
      !nodes[node].appointments.contains { $0.term == other.term }
    }
    guard !new.isEmpty else { return }
    for appointment in new {
      let who = nodes.indices.first { nodes[$0].replica.id == appointment.node }
      tell(
        "\(Words.node(node)) hears: \(who.map(Words.node) ?? "nobody") is the anchor of term "
          + "\(appointment.term.number)/\(appointment.term.incarnation % 1_000)"
          + (appointment.isForced ? " by force" : ""))
    }
    nodes[node].appointments = (nodes[node].appointments + new).sorted { $0.term < $1.term }
    // Before anything is said that follows from it.
    feed(node: node, .tell(new.map(Notice.statement)))
    govern(node)
  }

  /// The replica follows what the node has heard. A node that cannot write it down now has no
  /// sessions until it can: what it took in meanwhile would not be kept for the anchor.
  mutating func govern(_ node: Int) {
    guard knowsTime(node) else { return }
    let id = nodes[node].replica.id
    guard let governance = Appointments.governance(of: nodes[node].appointments, for: id) else {
      return
    }
    let isNew = nodes[node].isGoverned
    nodes[node].isGoverned = false
    attempt(node, nil, 0) { world in
      let fold = try world.use(node) { try $0.govern(governance, at: $1) }
      world.nodes[node].isGoverned = true
      if isNew, governance.isFirst, governance.isOwn, !world.hasLives,
        let office = try world.nodes[node].replica.observe().office, office.part != 3,
        !office.rulings.contains(where: {
          $0.kind == Ruling.Kind.stoodDown.rawValue && $0.term == governance.term
        })
      {
        world.history.blame("\(Words.node(node)), the first anchor, does not judge at once")
      }
      world.folded(node, fold)
    }
    guard !nodes[node].isGoverned, nodes[node].isUp else { return }
    for link in links.indices {
      for side in 0...1 where links[link].nodes[side] == node { drop(link, side) }
    }
  }

  /// The peers have shown who they are: they tell each other what they have heard.
  mutating func tellAppointments(_ link: Int, _ side: Int) {
    let appointments = nodes[links[link].nodes[side]].appointments
    guard !appointments.isEmpty else { return }
    feed(link, side, .tell(appointments.map(Notice.statement)))
  }

  /// The anchor knows in which sessions it is in touch with authors.
  mutating func noteSessions(of node: Int) {
    guard let plan, plan.hasOnline, nodes[node].isUp else { return }
    var sessions: [UInt64: Origin] = [:]
    for link in links.indices where links[link].nonce != 0 {
      for side in 0...1
      where links[link].nodes[side] == node && links[link].sides[side].isConnected {
        let peer = links[link].nodes[1 - side]
        sessions[links[link].nonce] = nodes[peer].replica.own
      }
    }
    nodes[node].replica.setLiveSessions(sessions)
  }

  /// An author that has completed an exchange with the anchor is in touch with it from now on.
  mutating func noteContact(_ link: Int, _ side: Int) {
    guard let plan, plan.hasOnline else { return }
    let node = links[link].nodes[side]
    let peer = nodes[links[link].nodes[1 - side]].replica.id
    guard nodes[node].appointments.last?.node == peer else { return }
    goOnline(node, links[link].nonce)
  }

  /// A session is over: edits from now on are made out of touch.
  mutating func loseContact(_ link: Int, _ side: Int) {
    guard let plan, plan.hasOnline else { return }
    let node = links[link].nodes[side]
    guard nodes[node].isUp else { return }
    if nodes[node].online == links[link].nonce { goOnline(node, 0) }
    noteSessions(of: node)
  }

  private mutating func goOnline(_ node: Int, _ nonce: UInt64) {
    guard nodes[node].online != nonce, nodes[node].isUp, knowsTime(node) else { return }
    nodes[node].online = nonce
    attempt(node, nil, 0) { world in
      let fold = try world.use(node) { try $0.goOnline(nonce, at: $1) }
      world.folded(node, fold)
    }
  }

  /// In the end somebody who is there is the anchor, or nobody.
  mutating func healOffice() {
    guard var plan, isFounded else { return }
    let alive = nodes.indices.filter { !nodes[$0].isDead }
    var all: [Appointment] = []
    for node in alive {
      all += nodes[node].appointments.filter { one in !all.contains { $0.term == one.term } }
    }
    all.sort { $0.term < $1.term }
    guard let last = all.last else { return }
    let living = Set(alive.map { nodes[$0].replica.id })
    let isHere = last.node.map(living.contains) ?? false
    let awaited =
      last.isForced || !isHere
      ? [] : Appointments.governance(of: all, for: last.node ?? .none)?.awaited ?? []
    let isFree = awaited.allSatisfy { living.contains($0.node) }
    guard let by = alive.first(where: { nodes[$0].isUp }) else { return }
    hear(all, at: by)
    if plan.endsWithout {
      if last.node != nil { appoint(nil, isForced: false, by: by, &plan) }
    } else if !isHere || !isFree {
      let able = alive.filter { mayJudge($0) }
      appoint(able.isEmpty ? nil : plan.random.pick(able), isForced: true, by: by, &plan)
    }
  }

  /// A person sees that nobody judges, for the anchor has begun a life, and appoints it again; true
  /// if that was so.
  mutating func appointAgain() -> Bool {
    guard var plan, isFounded else { return false }
    defer { self.plan = plan }
    let last = nodes.indices.filter { !nodes[$0].isDead }
      .compactMap { nodes[$0].appointments.last }.max { $0.term < $1.term }
    // Of two copies one is left.
    let anchor = nodes.indices.first { !nodes[$0].isDead && nodes[$0].replica.id == last?.node }
    guard let anchor, nodes[anchor].isUp, (try? nodes[anchor].replica.observe())?.office?.part == 0
    else { return false }
    appoint(anchor, isForced: plan.random.chance(300), by: anchor, &plan)
    return true
  }
}
