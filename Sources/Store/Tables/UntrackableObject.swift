/// What can be read like a table, and has no rows of its own to replicate.
package struct UntrackableObject: Sendable, Equatable {
  package var name: String
  /// The module of a virtual table, in small letters; nil for a view.
  package var module: String?
}
