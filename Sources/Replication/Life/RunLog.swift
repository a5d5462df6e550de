/// The runs of a replica, to tell whether what another node holds of it was written here.
package struct RunLog: Sendable, Equatable {
  /// A run wrote from this own edit on, under this origin.
  package struct Entry: Sendable, Equatable {
    package var first: UInt64
    package var origin: Origin
    package var run: UInt64

    package init(first: UInt64, origin: Origin, run: UInt64) {
      self.first = first
      self.origin = origin
      self.run = run
    }
  }

  /// The runs that are remembered, at most.
  package static let limit = 1_000

  /// In the order in which they began.
  package var entries: [Entry]

  package init(_ entries: [Entry] = []) { self.entries = entries }

  /// The numbers of the own edits of one life.
  package struct Life: Sendable, Equatable {
    package var origin: Origin
    package var first: UInt64
    package var last: UInt64
  }

  /// The lives that are remembered, the present one last.
  package func lives(now own: Origin) -> [Life] {
    var lives: [Life] = []
    for entry in entries where lives.last?.origin != entry.origin {
      if let index = lives.indices.last { lives[index].last = entry.first - 1 }
      lives.append(Life(origin: entry.origin, first: entry.first, last: .max))
    }
    if lives.last?.origin != own { lives.append(Life(origin: own, first: 1, last: .max)) }
    lives[0].first = 1
    return lives
  }

  /// Whether a peer has got edits of this origin that were not written in this life.
  ///
  /// The run that told it must be one of this file, and must have come as far: a file that was put
  /// back to an earlier state has never heard of the runs since, or has itself ended that run
  /// earlier.
  package func contradicts(_ testimony: Testimony, origin: Origin, last: UInt64) -> Bool {
    guard testimony.origin == origin, testimony.seq > 0 else { return false }
    if testimony.seq > last { return true }
    // Signed before any run.
    guard testimony.run != 0 else { return false }
    guard let index = entries.lastIndex(where: { $0.run == testimony.run }) else {
      return entries.count < Self.limit
    }
    let next = entries.index(after: index)
    return next < entries.endIndex && entries[next].first <= testimony.seq
  }
}

/// What a node has got from another one itself: its last edit, and the run that told it.
package struct Testimony: Sendable, Equatable {
  package var origin: Origin
  package var seq: UInt64
  package var run: UInt64

  package init(origin: Origin, seq: UInt64, run: UInt64) {
    self.origin = origin
    self.seq = seq
    self.run = run
  }
}
