import Flotilla
import SQLite
import Synchronization

/// All rows of a table of the server, as they are noted for a comparison.
struct ServerRows: Sendable {
  let link: TableLink
  let new: NewColumns?
  /// The file of the comparison.
  let path: String

  /// What was found.
  struct Found: Sendable {
    var count = 0
    /// Rows of the server whose key no row of the replica can have.
    var misfits: [(key: String, reason: String)] = []
  }

  private static let mostMisfits = 1_000

  /// Notes what the server has, which is one long answer.
  func read(_ server: ServerConnection) throws(MirrorError) -> Found {
    let scratch = try reading { () throws(SQLiteError) in
      let scratch = try Connection(path: path)
      try scratch.execute(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -8000; BEGIN")
      return scratch
    }
    var (found, failure) = (Found(), MirrorError?.none)
    do throws(ServerError) {
      try server.forEachRow(
        of: link.columns.count,
        "SELECT \(MirrorSession.selection(link, of: "t")) FROM \(link.server.sqlName) t",
        as: link.shapes
      ) { values throws(ServerError) in
        do throws(SQLiteError) {
          try note(values, into: &found, scratch)
        } catch {
          failure = .site(error)
          throw ServerError.own("its rows are not read to their end")
        }
      }
    } catch {
      throw failure ?? (error == .otherColumns ? .again(error.message) : .server(error))
    }
    try reading { () throws(SQLiteError) in try scratch.execute("COMMIT") }
    return found
  }

  private func note(
    _ values: [Value], into found: inout Found, _ scratch: Connection
  ) throws(SQLiteError) {
    found.count += 1
    let raw = link.key(of: values)
    let key: [Value]
    do throws(ColumnForm.Objection) {
      key = try MirrorSession.decode(key: raw, link)
    } catch {
      if found.misfits.count < Self.mostMisfits {
        found.misfits.append((raw.map(\.shown).joined(separator: ", "), error.reason))
      }
      return
    }
    let row = try? MirrorSession.decode(values, link)
    try scratch.run(
      "INSERT OR REPLACE INTO found VALUES (?, ?, 0, ?)",
      [
        .blob(RowKey.bytes(of: key)), .string(row.map(RowKey.fingerprint) ?? "unfit"),
        row.flatMap { new?.note(of: $0) }.map(Value.string) ?? .null,
      ])
  }
}

/// Whether a table was read to its end.
final class EndOfReading: Sendable {
  private let state = Mutex(false)
  var isReached: Bool { state.withLock { $0 } }
  func reach() { state.withLock { $0 = true } }
}

/// A connection of its own, and a thread, that reads whole tables: what changes flows on meanwhile.
actor ServerReading {
  private let executor = QueueExecutor("flotilla.mirror.reading")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let address: ServerAddress
  private let password: String
  private let lifeline = Lifeline()
  private var server: ServerConnection?

  enum Answer: Sendable {
    case read(ServerRows.Found)
    case failed(MirrorError)
    /// The server lets no second connection in.
    case unreachable
  }

  init(_ address: ServerAddress, password: String) {
    (self.address, self.password) = (address, password)
  }

  /// Ends what is being read, for good.
  nonisolated func cut() { lifeline.cut() }

  /// Gives the connection back; the next table gets another one.
  func close() { server = nil }

  func read(_ rows: ServerRows, telling end: EndOfReading) -> Answer {
    defer { end.reach() }
    let server: ServerConnection
    do throws(ServerError) {
      server = try connected()
    } catch {
      return .unreachable
    }
    do throws(MirrorError) {
      return .read(try rows.read(server))
    } catch {
      self.server = nil
      return .failed(error)
    }
  }

  private func connected() throws(ServerError) -> ServerConnection {
    if let server { return server }
    let made = try ServerConnection.open(address, password: password, lifeline)
    // Who reads may be slow for a while, for it lets others go before.
    try made.execute("SET SESSION net_write_timeout = 600")
    server = made
    return made
  }
}
