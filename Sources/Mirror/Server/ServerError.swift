/// What a server, or the way to it, says went wrong.
package struct ServerError: Error, Sendable, Equatable {
  /// What can be done about it.
  enum Kind: Sendable, Equatable {
    /// The connection is gone, or was never there: connect again and read the state.
    case lost
    /// The transaction was ended for others' sake: do the whole of it again.
    case again
    /// The server has no room, or does not let us in: it is the server's people who must act.
    case trouble
    /// This row does not fit; others may.
    case row
    /// A table is not as it was: look at it again.
    case schema
    case other
  }

  let code: UInt32
  let message: String
  private var concernsTable = false

  init(code: UInt32, message: String) {
    self.code = code
    // A server's words reach logs and terminals.
    let plain = String(
      String.UnicodeScalarView(
        message.unicodeScalars.prefix(1_000).map { $0.properties.isPlain ? $0 : "?" }))
    self.message = plain.isEmpty ? "it says nothing that can be read" : plain
  }

  var kind: Kind {
    switch code {
    // CR_… of errmsg.h, and what a server says that goes away.
    case 2000...2099, 5000...5099, 1053, 1077, 1079, 1080, 1152, 1158...1161, 1927: .lost
    // Deadlock (also what Galera says at COMMIT), lock wait, a snapshot that is too old.
    case 1213, 1205, 1020, 1047, 1317, 3024, 1969: .again
    case 1021, 1114, 1026, 1030, 1034...1038, 1041, 1135, 1180, 3, 28, 1290, 1836, 1040, 1203, 1226,
      1044, 1045, 1142, 1143, 1227, 1370,
      1698, 1820, 1862, 1015, 1016, 1194, 1195, 1442, 1449, 1792, 1812, 1814:
      .trouble
    case 1048, 1062, 1063, 1118, 1139, 1153, 1169, 1216, 1217, 1264, 1265, 1292, 1364, 1366, 1367,
      1406, 1411, 1451, 1452, 1526, 1557, 1586, 1644, 1690, 1761, 3140, 3819, 4025, 4078:
      .row
    case 1054, 1146, 1136, 1051, 1072, 1091, 1109, 1305, 1360, 1412, 1615, 4162: .schema
    default: .other
    }
  }

  /// Whether it is a lock that was waited for in vain.
  var isLock: Bool { code == 1205 }

  /// Whether another row has what this one is to have.
  var isTaken: Bool { [1062, 1169, 1586].contains(code) }

  /// Whether the user lacks a right to a table.
  var isDenied: Bool { code == 1142 }

  /// Whether a table takes nothing at present, though the others may.
  var isOfTable: Bool {
    concernsTable
      || [
        1015, 1016, 1026, 1030, 1034, 1035, 1036, 1114, 1142, 1143, 1194, 1195, 1205, 1370, 1442,
        1449, 1812, 1814,
      ].contains(code)
  }

  /// The same, said of the table.
  var ofTable: ServerError {
    var error = self
    error.concernsTable = true
    return error
  }

  /// For a value of our own that a connection cannot carry.
  static func own(_ message: String) -> ServerError { ServerError(code: 0, message: message) }

  /// A table was altered after a statement was prepared: "Table definition has changed".
  static let otherColumns = ServerError(
    code: 1412, message: "a table was altered")

  /// "CR_MALFORMED_PACKET" (errmsg.h): the connection is of no use any more.
  static let tooMuch = ServerError(
    code: 2027, message: "it answers with more than it was asked for")

  var text: String { code == 0 ? message : "\(message) (error \(code))" }
}

extension Unicode.Scalar.Properties {
  /// Whether it is shown, and steers nothing.
  fileprivate var isPlain: Bool {
    switch generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: false
    default: true
    }
  }
}
