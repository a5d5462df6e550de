import Replication
import Store

/// What the shell does about rights: hears statements, follows them, asks for rows.
extension World {
  var hasRights: Bool { nodes[0].membership != nil }

  /// Founds a site with rights; every node knows what was said then.
  mutating func found(_ shape: SiteShape, _ random: inout Seeded) {
    guard faults[.rights] > 0 else { return }
    self.shape = shape
    let founding = SimulatedSite.founded(
      count: nodes.count, isLine: shape.isLine, tables: shape.tables, &random)
    self.founding = founding
    // The first word is heard before anybody has anything, or when all have the tables.
    if random.chance(600) { meet() }
    for node in nodes.indices { nodes[node].membership = founding }
    for node in nodes.indices { follow(node) }
  }

  /// Whether a node may be the anchor: it may do everything, for good.
  func mayJudge(_ node: Int) -> Bool {
    guard hasRights, let founding else { return true }
    guard node < (shape.isLine ? nodes.count - 1 : max(1, nodes.count - 2)) else { return false }
    return founding.roll.entries[nodes[node].replica.id]?.rights.isWhole == true
  }

  /// What a node may do, as another one has heard.
  func rights(of node: Int, at other: Int) -> Rights {
    if nodes[other].membership == nil { return .all }
    let entry = nodes[other].membership?.roll.entries[nodes[node].replica.id]
    guard let entry, entry.isMember else { return Rights(general: .none) }
    return entry.rights
  }

  /// A process knows what is on its disk, and what was founded.
  mutating func remember(_ node: Int) throws {
    nodes[node].membership = founding
    let statements = try nodes[node].replica.statements()
    _ = nodes[node].membership?.unite(statements)
    nodes[node].holds = nodes[node].savedHolds
    nodes[node].rights = nodes[node].replica.rights
    follow(node)
  }

  /// The admin says what another node may do with a table from now on.
  mutating func grant() {
    guard nodes.count > 1, nodes[0].isUp, let table = shape.tables.randomElement(using: &random)
    else { return }
    let first = shape.isLine ? nodes.count - 1 : 1
    let node = first + random.below(nodes.count - first)
    if plan != nil, mayJudge(node) { return }
    // What is written at the last moment may be on its way, or not even folded; and somebody may be
    // away who hears of it later, perhaps from a node that may not tell all of it any more.
    if random.chance(600) { cut(random.below(links.count)) }
    if random.chance(700) { write(node) }
    if random.chance(600), nodes[node].isUp { fold(node) }
    if random.chance(500) {
      for _ in 0..<12 { _ = step(random.below(links.count), random.below(2)) }
    }
    let right = random.pick(Right.allCases)
    if SimulatedSite.mayBeGranted(table) { grant(node, table, right) }
  }

  private mutating func grant(_ node: Int, _ table: String, _ right: Right) {
    guard var membership = nodes[0].membership else { return }
    tell("\(Words.node(node)) is granted: \(right) \(table)")
    let id = nodes[node].replica.id
    let signed = SimulatedSite.say(.grant(node: id, table: table, right: right), in: &membership)
    nodes[0].membership = membership
    spread([signed], from: 0, besides: nil)
  }

  /// Now and then everybody may do everything in the end.
  mutating func grantInTheEnd() {
    guard !nodes[0].isDead, random.chance(400) else { return }
    for node in nodes.indices.dropFirst() {
      for (table, right) in rights(of: node, at: 0).tables.sorted(by: { $0.key < $1.key })
      where right != .write {
        grant(node, table, .write)
      }
    }
  }

  /// A session knows its peer.
  mutating func opened(_ link: Int, _ side: Int, _ hello: Hello) {
    guard hasRights else { return links[link].sides[side].mayPull = true }
    let ends = links[link].nodes
    let (node, peer) = (ends[side], ends[1 - side])
    guard hasRightsOfToday(link, side, rights(of: node, at: node)) else {
      return feed(link, side, .close(Bye(.other, "rights have changed meanwhile")))
    }
    nodes[node].savedHolds = nodes[node].holds
    if let membership = nodes[node].membership, hello.statements != membership.hash {
      feed(link, side, .tell(membership.all))
    }
    if rights(of: peer, at: node).isWhole { askForRows(node, link, side) }
    links[link].sides[side].mayPull = true
  }

  mutating func hear(_ statements: [SignedStatement], _ link: Int, _ side: Int) {
    let node = links[link].nodes[side]
    let news = nodes[node].membership?.unite(statements) ?? []
    spread(news, from: node, besides: link)
  }

  /// Keeps what is new, passes it on, and does what follows from it.
  private mutating func spread(_ news: [SignedStatement], from node: Int, besides: Int?) {
    guard !news.isEmpty else { return }
    attempt(node, nil, 0) { try $0.nodes[node].replica.keep(news) }
    for link in links.indices where link != besides {
      for side in 0...1 where links[link].nodes[side] == node { feed(link, side, .tell(news)) }
    }
    follow(node)
  }

  /// Sees to it that the store and every session go by the rights of today.
  mutating func follow(_ node: Int) {
    let own = rights(of: node, at: node)
    if !own.isWhole { history.leaves.insert(nodes[node].replica.own) }
    if own != nodes[node].rights, nodes[node].isUp {
      tell("\(Words.node(node)) may now: \(Words.rights(own))")
      let (delivered, now) = (delivered(node), now(node))
      attempt(node, nil, 0) { world in
        try world.nodes[node].replica.allow(
          own, delivered: delivered, at: now, &world.history)
        world.nodes[node].rights = own
      }
      feed(node: node, .advanced(nodes[node].replica.position))
    }
    for link in links.indices {
      for side in 0...1 where links[link].nodes[side] == node {
        guard links[link].sides[side].isConnected, !hasRightsOfToday(link, side, own) else {
          continue
        }
        feed(link, side, .close(Bye(.other, "the rights of a member have changed")))
      }
    }
  }

  /// How much of what was written here some node holds that may pass it on.
  private func delivered(_ node: Int) -> UInt64 {
    let own = nodes[node].replica.own
    return nodes[node].holds.filter { rights(of: $0.key, at: node).isWhole }
      .map { $0.value[own] }.max() ?? 0
  }

  private func hasRightsOfToday(_ link: Int, _ side: Int, _ own: Rights) -> Bool {
    let ends = links[link].nodes
    return own == nodes[ends[side]].rights
      && links[link].sides[side].ownRights == nodes[ends[side]].rights
      && links[link].sides[side].peerRights == rights(of: ends[1 - side], at: ends[side])
  }

  /// Asks one that may write everything for rows that were edited without the right to.
  mutating func askForRows(_ node: Int, _ link: Int? = nil, _ side: Int? = nil) {
    let wanted = nodes[node].replica.wanted
    guard wanted > 0, link != nil || wanted != nodes[node].lastWanted else { return }
    for other in links.indices where link.map({ $0 == other }) ?? true {
      for end in 0...1 where links[other].nodes[end] == node {
        guard links[other].sides[end].session?.state == .open,
          rights(of: links[other].nodes[1 - end], at: node).isWhole
        else { continue }
        return attempt(node, other, end) { world in
          world.nodes[node].lastWanted = wanted
          let names = try world.nodes[node].replica.wantedRows()
          if !names.isEmpty { world.feed(other, end, .want(names)) }
        }
      }
    }
  }

  /// What a node holds of others in tables that its peer, by what that one knows, may not send it.
  func hidden(from link: Int, _ side: Int) throws -> [RowNumber: Version] {
    let rights = links[link].sides[1 - side].peerRights
    guard !rights.readsAll else { return [:] }
    return try nodes[links[link].nodes[side]].replica.held(where: {
      rights.right(to: $0) == .none
    })
  }

  /// The same after a merge: nothing has come.
  mutating func checkHidden(
    _ before: [RowNumber: Version], _ link: Int, _ side: Int
  ) throws {
    let ends = links[link].nodes
    let after = try hidden(from: link, side)
    AnytimeHidden.check(
      before, after, own: nodes[ends[side]].replica.own, &history,
      from: Words.node(ends[1 - side]), to: Words.node(ends[side]))
  }

  /// What must hold in the end at those that may not do everything.
  mutating func checkRights(_ shown: [(name: String, shown: Observation)]) throws {
    guard let whole = shown.first else { return }
    for node in nodes.all where !node.isDead {
      if node.membership?.hash != nodes[0].membership?.hash, !nodes[0].isDead {
        history.blame("\(node.replica.name) does not know all that was signed")
      }
      guard !node.replica.rights.isWhole else { continue }
      EventuallyReadable.check(
        (node.replica.name, try node.replica.observe()), whole,
        mayRead: node.replica.mayRead, &history)
    }
  }
}
