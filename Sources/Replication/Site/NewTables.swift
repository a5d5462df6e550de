/// Which of the tables that have appeared in a file are there to stay.
///
/// A migration makes tables for a moment, and changes those that it has made: a table counts once
/// its definition has stood still. What is there at the first look has stood long enough: it was
/// made while nobody looked.
package struct NewTables: Sendable {
  /// For so long, in ms.
  package static let stillness: Int64 = 4_000
  /// So many are followed at a time; more wait until some of these are gone.
  static let limit = 1_000

  private struct Sighting {
    var definition: String
    var since: Int64
    var looks = 0
  }

  private var sightings: [String: Sighting] = [:]
  private var hasLooked = false

  package init() {}

  /// The tables that are new now, with what defines them. Gives the names of those that count,
  /// until they are not new any more.
  package mutating func receive(_ tables: [String: String], at now: Int64) -> [String] {
    var next: [String: Sighting] = [:]
    for (name, definition) in tables.sorted(by: { $0.key < $1.key }).prefix(Self.limit) {
      var sighting = Sighting(
        definition: definition, since: hasLooked ? now : now - Self.stillness,
        looks: hasLooked ? 0 : 1)
      if let before = sightings[name], before.definition == definition { sighting = before }
      sighting.looks += 1
      next[name] = sighting
    }
    (sightings, hasLooked) = (next, true)
    return next.filter { $0.value.looks >= 2 && now - $0.value.since >= Self.stillness }
      .keys.sorted()
  }

  /// Whether a table is followed that does not count yet.
  package var isWaiting: Bool { !sightings.isEmpty }
}
