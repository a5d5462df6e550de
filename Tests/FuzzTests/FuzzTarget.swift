/// Something that reads bytes from outside, with what must hold whatever they are.
///
/// A target traps if it does not hold: that is what libFuzzer and the tests look for.
enum FuzzTarget: String, CaseIterable, Sendable {
  /// A stream cut into frames, each read as a message.
  case frame
  /// One message, read and written again.
  case message
  /// A batch of rows, read and written again.
  case batch
  /// Values, made a canonical key and read again; and bytes that claim to be one.
  case key
  /// A session between a peer that sends anything and a shell that does its work in any order.
  case session
  /// An invitation code as somebody typed it.
  case code
  /// Signed statements, taken in beside a site's own, and what they amount to.
  case statements
  /// Statements that appoint an anchor, and what they mean to every node.
  case appointment
  /// What an anchor says of rows, judged by every rule.
  case certificate
  #if !WIRE
    /// A frame as it travels packed, and another one to be packed.
    case packed
    /// A row on the shelf, as it lies in the file.
    case shelf
    /// Batches merged into a small database.
    case merge
    /// The schema that a joiner takes over.
    case schema
    /// SQL text cut into tokens.
    case sql
    /// A request on the control socket.
    case control
    /// An address as a member or the operator gives it.
    case address
    /// The text of a service on the air.
    case txt
    /// What a stranger sends in place of a handshake.
    case handshake
    /// A site key as somebody typed it.
    case siteKey
    /// A key file.
    case pem
    /// The body of a request to the gateway.
    case json
    /// The target of such a request.
    case query
    /// A statement of a client who asks in SQL.
    case question
    /// The value of a header of a request, and a cursor of changes.
    case header
  #endif

  func read(_ bytes: [UInt8]) {
    switch self {
    case .frame: readFrames(bytes)
    case .message: readMessage(bytes)
    case .batch: readBatch(bytes)
    case .key: readKey(bytes)
    case .session: readSession(bytes)
    case .code: readCode(bytes)
    case .statements: readStatements(bytes)
    case .appointment: readAppointments(bytes)
    case .certificate: readCertificates(bytes)
    #if !WIRE
      case .packed: readPacked(bytes)
      case .shelf: readShelf(bytes)
      case .merge: readMerge(bytes)
      case .schema: readSchema(bytes)
      case .sql: readSQL(bytes)
      case .control: readRequest(bytes)
      case .address: readAddress(bytes)
      case .txt: readTXT(bytes)
      case .handshake: readHandshake(bytes)
      case .siteKey: readSiteKey(bytes)
      case .pem: readPEM(bytes)
      case .json: readJSON(bytes)
      case .query: readQuery(bytes)
      case .question: readQuestion(bytes)
      case .header: readHeader(bytes)
    #endif
    }
  }
}

/// Ends the program if something does not hold; unlike `precondition` it says why, also optimised.
func demand(_ holds: Bool, _ message: @autoclosure () -> String) {
  if !holds { fatalError(message()) }
}
