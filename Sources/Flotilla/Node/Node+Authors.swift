import Replication
import Store

/// Who wrote what, for people: which nodes' lives are known, and how the nodes are called.
extension Node {
  /// Reads what was kept when this node last ran.
  func loadAuthors() async throws(FlotillaError) {
    let (known, delivered) = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        (try store.authors(), try store.delivered())
      }
    }
    for author in known {
      authorNames[author.node] = author.name
      guard author.node != identity.node else { continue }
      authors[author.node, default: []].append(author.life)
    }
    savedDelivery = delivered
  }

  /// Keeps lives that are new, and gives whose they are.
  ///
  /// The origin follows from a life and the key of its node, so nobody can be called the author of
  /// what another has written. By hearsay a node gets few lives; what it shows itself counts.
  @discardableResult
  func note(_ members: [Member], byHearsay: Bool = false) async -> Set<Identity> {
    var news: [KnownAuthor] = []
    for member in members {
      // Also of one that has left: what it has written stands on.
      guard let entry = roster.roll.entries[member.node] else { continue }
      for life in member.lives.prefix(Limits.lives) {
        var lives = authors[member.node] ?? []
        if !byHearsay || !lives.contains(life) { presentLives[member.node] = life }
        guard !lives.contains(life), !byHearsay || lives.count < Limits.lives else { continue }
        lives.append(life)
        authors[member.node] = lives.suffix(Limits.lives)
        news.append(
          KnownAuthor(
            origin: Origin.of(member.node, life: life, .openSSL), node: member.node,
            name: entry.name.isEmpty ? member.name : entry.name, life: life))
      }
    }
    await followAuthors()
    guard !news.isEmpty else { return [] }
    let found = news
    do {
      try await store.run { (store) throws(StoreError) in try store.note(found) }
    } catch {
      // A name beside a row or a conflict; after a restart it is told again.
      warn("could not remember who has written: \(error.message)")
    }
    return Set(news.map(\.node))
  }

  /// Tells the store whose authors cannot look after their edits any more: lives that are over, and
  /// members that have left or were shut out.
  func followAuthors() async {
    var departed: Set<Origin> = []
    var left: Set<Origin> = []
    for (node, lives) in authors {
      let isMember = roster.roll.member(node) != nil
      for life in lives where !isMember || (presentLives[node] ?? life) != life {
        departed.insert(Origin.of(node, life: life, .openSSL))
        if !isMember { left.insert(Origin.of(node, life: life, .openSSL)) }
      }
    }
    let (gone, ended) = (departed, left)
    await store.tell {
      $0.departed = gone
      $0.left = ended
    }
  }

  /// Calls the authors as the site does now.
  func nameAuthors() async {
    var news: [Identity: String] = [:]
    for entry in roster.roll.everybody where !entry.name.isEmpty {
      let isKnown = authors[entry.node] != nil || entry.node == identity.node
      guard isKnown, authorNames[entry.node] != entry.name else { continue }
      news[entry.node] = entry.name
    }
    guard !news.isEmpty, trouble.current == nil else { return }
    let names = news
    do {
      try await store.run { (store) throws(StoreError) in try store.name(names) }
      authorNames.merge(news) { $1 }
    } catch {
      warn("could not remember the names of members: \(error.message)")
    }
  }

  /// Sees to it that what others hold of what was written here is kept, once a second at most.
  func noteDelivery() {
    guard deliveryTimer == nil, !isStopping, deliveredSeq > savedDelivery else { return }
    deliveryTimer = Task {
      try? await Task.sleep(for: .seconds(1))
      deliveryTimer = nil
      if !isStopping { await saveDelivery() }
    }
  }

  func saveDelivery() async {
    let delivered = deliveredSeq
    guard delivered > savedDelivery, trouble.current == nil else { return }
    do {
      try await store.patiently { (store) throws(StoreError) in
        try store.setDelivered(delivered)
      }
      savedDelivery = delivered
    } catch {
      // What the programs read as `synced` is behind until then.
      if !note(error) { warn("could not remember what others hold: \(error.message)") }
    }
    noteDelivery()
  }
}
