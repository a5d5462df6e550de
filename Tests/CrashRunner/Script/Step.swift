/// One of the two replicas.
enum Side: String, CaseIterable {
  case a, b

  var other: Side { self == .a ? .b : .a }
}

/// One operation of the script.
enum Step {
  /// An application's transaction: it is told of the commit, or it has not happened.
  case write(Side, String)
  /// One statement of an application that runs outside a transaction: a checkpoint, VACUUM.
  case alone(Side, String)
  /// Makes the file a replica; the number tells one life of it from the next.
  case initialise(Side, UInt64)
  /// Makes the second file a replica with the schema of the first, and copies its rows.
  case join(UInt64)
  case leave(Side)
  case track(Side, [String])
  case untrack(Side, [String])
  case fold(Side)
  /// Everything that either lacks, both ways.
  case exchange
  /// The node closes the file and opens it again.
  case restart(Side)
  /// Every connection to the file is closed, the last one empties the log.
  case close(Side)

  /// Whose file alone may change, and only in whole: nil if rows of the other side arrive.
  var isWhole: Bool {
    switch self {
    case .exchange, .join: false
    default: true
    }
  }

  /// A command that a person gives again if it was cut short.
  var isRepeated: Bool {
    switch self {
    case .initialise, .join, .leave, .track, .untrack: true
    default: false
    }
  }

  var text: String {
    switch self {
    case .write(let side, let sql): "write \(side): \(sql.prefix(60))"
    case .alone(let side, let sql): "alone \(side): \(sql)"
    case .initialise(let side, let number): "initialise \(side) as \(number)"
    case .join(let number): "join as \(number)"
    case .leave(let side): "leave \(side)"
    case .track(let side, let tables): "track \(side): \(tables.joined(separator: ", "))"
    case .untrack(let side, let tables): "untrack \(side): \(tables.joined(separator: ", "))"
    case .fold(let side): "fold \(side)"
    case .exchange: "exchange"
    case .restart(let side): "restart \(side)"
    case .close(let side): "close \(side)"
    }
  }
}
