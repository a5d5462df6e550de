import Replication
import SQLite
import Testing

@testable import Store

/// Replicas of one site that let go of what is deleted, without waiting for 400 days.
final class CollectionSite {
  let site: AnchorSite
  var replicas: [TestReplica] { site.replicas }
  /// Who is waited for.
  var members: Set<Identity>

  init(_ rule: String? = "newest-wins", appoints: Bool = false) throws {
    site = try AnchorSite(rule, appoints: appoints)
    members = Set(site.replicas.map(\.store.node))
  }

  /// Everybody who is there exchanges, tells and collects, until nothing changes any more.
  @discardableResult
  func collect(_ some: [TestReplica]? = nil) throws -> Int {
    let some = some ?? replicas
    var collected = 0
    for round in 1...8 {
      try site.meet(some)
      for one in some {
        while true {
          let done = try one.store.tend(
            members: members, id: UInt64(round), retention: 0, pause: 0, at: one.now)
          collected += done.collected
          if !done.hasMore { break }
        }
        try tell(some)
      }
    }
    return collected
  }

  /// Each looks at some versions, and tells.
  func collectOnce(id: UInt64, pause: Int64, limit: Int) throws {
    for one in replicas {
      _ = try one.store.deletions.tend(
        members: members, everybody: members, naming: { _ in Identity(high: 0, low: id) },
        proposes: true, retention: 0, pause: pause, limit: limit, at: one.now)
      try tell(replicas)
    }
  }

  private func tell(_ some: [TestReplica]) throws {
    for one in some {
      for other in some where one !== other {
        try one.store.stability.news.map {
          try other.store.deletions.hear($0, from: one.store.node, isLeaf: false)
        }
      }
    }
  }

  /// A replica that was away meets those who were there, as a node would.
  func comeBack(_ replica: TestReplica, number: UInt64 = 88) throws {
    let mark = replicas.map(\.store.stability.cleared).max() ?? .none
    try replica.store.beginLife(
      .behind, origin: Origin(rawValue: number), life: number, run: number,
      reissuingAbove: nil, renewingTo: mark, at: replica.now)
    try site.anchor.store.stability.news.map {
      try replica.store.deletions.hear($0, from: site.anchor.store.node, isLeaf: false)
    }
    try replica.pull(from: site.anchor)
    try replica.foldAll()
    try site.meet()
  }
}

extension TestReplica {
  /// Deleted versions that are still here.
  var deletions: Int {
    get throws {
      Int(try value("SELECT count(*) FROM _flotilla_version WHERE hash IS NULL").integer ?? -1)
    }
  }
}
