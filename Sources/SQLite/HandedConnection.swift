/// A connection that its owner has given away to whoever holds this.
///
/// `@unchecked Sendable` is right because the owner keeps nothing of the connection, and one piece
/// of work after the other uses it from then on. Only `interrupt` is called beside that: it may be,
/// from any thread, as long as the connection is open (sqlite.org/c3ref/interrupt.html), and it is
/// open for as long as somebody has this.
package final class HandedConnection: @unchecked Sendable {
  package let connection: Connection

  package init(_ connection: Connection) { self.connection = connection }

  /// Ends the statement that runs at present.
  package func interrupt() { connection.interrupt() }
}
