import Replication
import Store

/// Under which lives each node of the site has written, and how the file calls it.
///
/// A pure value: what it learns the caller writes into the file. A node has shown a life itself, or
/// others have told of it. An origin follows from a life, and so does who looks after which edits.
struct AuthorBook: Sendable {
  /// Lives as they became known, of other nodes than this one.
  private var lives: [Identity: [UInt64]] = [:]
  /// The life in which each node is now, as far as it was heard since this node started.
  private var present: [Identity: UInt64] = [:]
  private var names: [Identity: String] = [:]

  init() {}

  /// What the file knows; `own` is this node.
  init(_ known: [KnownAuthor], own: Identity) {
    for author in known {
      names[author.node] = author.name
      guard author.node != own else { continue }
      lives[author.node, default: []].append(author.life)
    }
  }

  /// The other nodes that have written.
  var nodes: Set<Identity> { Set(lives.keys) }

  /// The lives of another node, if any is known.
  subscript(_ node: Identity) -> [UInt64]? { lives[node] }

  /// Takes in lives that are told of members, and gives those that are new.
  ///
  /// The origin follows from a life and the key of its node, so nobody can be called the author of
  /// what another has written. By hearsay a node gets few lives; what it shows itself counts.
  mutating func note(
    _ members: [Member], byHearsay: Bool, in roll: Roll
  ) -> [KnownAuthor] {
    var news: [KnownAuthor] = []
    for member in members {
      // Also of one that has left: what it has written stands on.
      guard let entry = roll.entries[member.node] else { continue }
      for life in member.lives.prefix(Limits.lives) {
        var known = lives[member.node] ?? []
        if !byHearsay || !known.contains(life) { present[member.node] = life }
        guard !known.contains(life), !byHearsay || known.count < Limits.lives else { continue }
        known.append(life)
        lives[member.node] = known.suffix(Limits.lives)
        news.append(
          KnownAuthor(
            origin: Origin.of(member.node, life: life, .openSSL), node: member.node,
            name: entry.name.isEmpty ? member.name : entry.name, life: life))
      }
    }
    return news
  }

  /// Whose authors cannot look after their edits any more: lives that are over, and of these the
  /// ones of members that have left or were shut out, and the latter.
  func departed(
    from roll: Roll
  ) -> (all: Set<Origin>, left: Set<Origin>, revoked: Set<Origin>) {
    var (all, left, revoked): (Set<Origin>, Set<Origin>, Set<Origin>) = ([], [], [])
    for (node, lives) in lives {
      let isMember = roll.member(node) != nil
      for life in lives where !isMember || (present[node] ?? life) != life {
        let origin = Origin.of(node, life: life, .openSSL)
        all.insert(origin)
        if !isMember { left.insert(origin) }
        if !isMember, !roll.hasLeft(node) { revoked.insert(origin) }
      }
    }
    return (all, left, revoked)
  }

  /// The names by which the site knows authors, this node among them, where the file has others.
  func renamed(in roll: Roll, own: Identity) -> [Identity: String] {
    var news: [Identity: String] = [:]
    for entry in roll.everybody where !entry.name.isEmpty {
      let isAuthor = lives[entry.node] != nil || entry.node == own
      if isAuthor, names[entry.node] != entry.name { news[entry.node] = entry.name }
    }
    return news
  }

  /// The file has these names now.
  mutating func rename(_ news: [Identity: String]) { names.merge(news) { $1 } }
}
