import Replication
import Store

/// Who wrote what, for people: which nodes' lives are known, and how the nodes are called.
extension Node {
  /// Reads what was kept when this node last ran.
  func loadAuthors() async throws(FlotillaError) {
    let (known, delivered) = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        (try store.members.authors(), try store.lives.delivered())
      }
    }
    authors = AuthorBook(known, own: identity.node)
    savedDelivery = delivered
  }

  /// Keeps lives that are new, and gives whose they are. By hearsay others than the nodes
  /// themselves tell of them.
  @discardableResult
  func note(_ members: [Member], byHearsay: Bool = false) async -> Set<Identity> {
    let news = authors.note(members, byHearsay: byHearsay, in: roster.roll)
    await followAuthors()
    guard !news.isEmpty else { return [] }
    do {
      try await store.run { (store) throws(StoreError) in try store.members.note(news) }
    } catch {
      // A name beside a row or a conflict; after a restart it is told again.
      warn("could not remember who has written: \(error.message)")
    }
    return Set(news.map(\.node))
  }

  /// Tells the store whose authors cannot look after their edits any more: lives that are over, and
  /// members that have left or were shut out.
  func followAuthors() async {
    let departed = authors.departed(from: roster.roll)
    await store.tell {
      $0.departed = departed.all
      $0.left = departed.left
      $0.revoked = departed.revoked
    }
  }

  /// Calls the authors as the site does now.
  func nameAuthors() async {
    let news = authors.renamed(in: roster.roll, own: identity.node)
    guard !news.isEmpty, trouble.current == nil else { return }
    do {
      try await store.run { (store) throws(StoreError) in try store.members.rename(news) }
      authors.rename(news)
    } catch {
      warn("could not remember the names of members: \(error.message)")
    }
  }

  /// Sees to it that what others hold of what was written here is kept, once a second at most.
  func noteDelivery() {
    guard !work.isUnderWay(.delivery), !isStopping, deliveredSeq > savedDelivery else { return }
    work.begin(
      .delivery,
      Task {
        try? await Task.sleep(for: .seconds(1))
        work.end(.delivery)
        if !isStopping { await saveDelivery() }
      })
  }

  func saveDelivery() async {
    let delivered = deliveredSeq
    guard delivered > savedDelivery, trouble.current == nil else { return }
    do {
      try await store.patiently { (store) throws(StoreError) in
        try store.lives.setDelivered(delivered)
      }
      savedDelivery = delivered
    } catch {
      // What the programs read as `synced` is behind until then.
      if !note(error) { warn("could not remember what others hold: \(error.message)") }
    }
    noteDelivery()
  }
}
