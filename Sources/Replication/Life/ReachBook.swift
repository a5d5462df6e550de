/// What is known by the signatures of owners: of each origin the furthest reach, and how far runs
/// before had come.
///
/// A machine came to edit 100, is put back to 80 and comes to 120 in another run. Who hears of 120
/// from others keeps the 100 as well, and shows it to the owner: it alone tells what happened.
package struct ReachBook: Sendable, Equatable {
  /// Runs before the last one of which it is kept how far they came, of each origin.
  package static let mostEarlier = 7
  /// Lives of one node, whoever tells of them: each is an entry in everybody's frontier.
  package static let mostLives = 1_024

  package private(set) var furthest: [Origin: Reach] = [:]
  /// Of the runs before, in the order of their last edits.
  package private(set) var earlier: [Origin: [Reach]] = [:]
  private var lives: [Identity: Int] = [:]
  /// What this replica says of its own origin, which it knows best.
  private var ownOrigin: Origin?
  private var ownReach: Reach?

  package init() {}

  package init(_ reaches: some Sequence<Reach>) {
    for reach in reaches.sorted(by: { $0.seq < $1.seq }) { keep(reach) }
  }

  package subscript(origin: Origin) -> Reach? {
    origin == ownOrigin ? ownReach : furthest[origin]
  }
  package var values: [Reach] {
    furthest.values.filter { $0.origin != ownOrigin } + (ownReach.map { [$0] } ?? [])
  }

  /// Whether one goes further than what is known, and its owner has not had too many lives, these
  /// `new` ones among them.
  package func isNews(_ reach: Reach, beside new: Int = 0) -> Bool {
    if let known = furthest[reach.origin] { return reach.seq > known.seq }
    return lives[reach.node, default: 0] + new < Self.mostLives
  }

  /// What would be kept of some, of each origin one.
  package func news(of reaches: [Reach]) -> [Origin: Reach] {
    var (news, new): ([Origin: Reach], [Identity: Int]) = ([:], [:])
    for reach in reaches where isNews(reach, beside: new[reach.node, default: 0]) {
      if furthest[reach.origin] == nil { new[reach.node, default: 0] += 1 }
      news[reach.origin] = reach
    }
    return news
  }

  /// Keeps one that was checked, if it is news; gives whether it is, and what is let go for it.
  @discardableResult
  package mutating func keep(_ reach: Reach) -> (isKept: Bool, dropped: Reach?) {
    guard isNews(reach) else { return (false, nil) }
    guard let before = furthest.updateValue(reach, forKey: reach.origin) else {
      lives[reach.node, default: 0] += 1
      return (true, nil)
    }
    var runs = earlier[reach.origin, default: []] + [before]
    runs.removeAll { $0.run == reach.run }
    let dropped = runs.count > Self.mostEarlier ? runs.removeFirst() : nil
    earlier[reach.origin] = runs.isEmpty ? nil : runs
    return (true, dropped)
  }

  /// With the word of this replica on its own origin.
  package func with(own origin: Origin, _ reach: Reach?) -> ReachBook {
    var book = self
    (book.ownOrigin, book.ownReach) = (origin, reach)
    return book
  }
}
