import SQLite
import Store

extension FlotillaError {
  /// An error of the store, about this file.
  init(_ error: StoreError, path: String) {
    if let cause = error.cause {
      self.init(cause, path: path)
      return
    }
    let code: Code =
      switch error.code {
      case .table, .schema: .table
      case .notInitialised: .notInitialised
      case .alreadyInitialised: .alreadyInitialised
      case .newerFormat: .newerFormat
      case .wire, .gap: .peer
      case .closed: .node
      case .damaged: .notADatabase
      default: .system
      }
    self.init(code, error.message, remedy: error.remedy)
  }

  /// An error of SQLite, about this file: what it means and what to do.
  init(_ error: SQLiteError, path: String) {
    if let table = error.missingOwnTable {
      self.init(missing: table, path: path)
    } else if error.code == 0 {
      // Nothing has failed: it is told why something goes another way.
      self.init(.sql, error.message)
    } else if error.isNotADatabase {
      self.init(
        .notADatabase, "\(path) is not an SQLite database, or it is encrypted",
        remedy: "Check the name of the file; an encrypted database cannot be replicated.")
    } else if error.isCorrupt {
      self.init(
        .notADatabase, "\(path) is damaged: \(error.message)",
        remedy: "Run: sqlite3 \(shellWord(path)) '.recover', or restore a copy; nothing was "
          + "changed.")
    } else if error.isReadOnly || error.cannotOpen, FileSystem.isReadOnly(at: path) {
      self.init(
        .readOnly, "the file system of \(path) is read-only",
        remedy: "Mount it for writing (mount -o remount,rw): Flotilla and SQLite write beside the "
          + "file, also to read. Or copy the file to another disk, and read the copy with sqlite3.")
    } else if error.isReadOnly {
      self.init(
        .readOnly, "\(path) or its folder cannot be written",
        remedy: "Run as the owner of the file, or change the permissions of file and folder.")
    } else if error.isFull {
      self.init(
        .diskFull, "the disk that holds \(path) is full",
        remedy: "Make room and try again; nothing was lost, and a running node goes on by itself.")
    } else if error.isBusy {
      self.init(
        .locked, "\(path) was locked by another program for too long",
        remedy: Self.unlocking(path) + ", and try again.")
    } else if error.cannotOpen,
      let refusal = WriteAccess.refusal(Sidecar.absolute(path), path: path)
    {
      // SQLite opens no file in WAL mode where it cannot make what belongs beside it.
      self = refusal
    } else if error.cannotOpen {
      self.init(
        .notADatabase, "\(path) cannot be opened: \(error.message)",
        remedy: "Check that the file and its folder exist and may be read and written.")
    } else if error.code == 26 << 8 || error.message.contains("write-ahead") {
      self.init(
        .readOnly, "\(path) is on a file system without shared memory (a network drive?)",
        remedy: "Put the database on a local disk: write-ahead logging needs one.")
    } else {
      self.init(.sql, "\(path): \(error.message)")
    }
  }
}

extension FlotillaError {
  /// What to do about a write lock that another program keeps.
  static func unlocking(_ path: String) -> String {
    guard let holder = LockHolder(writing: Sidecar.absolute(path)) else {
      return "Find the program that keeps a transaction open"
    }
    return "\(holder.text) keeps a transaction open: let it commit, or end it"
  }

  /// The same as what goes on at present, rather than as the end of one command.
  func asTrouble(of path: String) -> FlotillaError {
    switch code {
    case .locked:
      FlotillaError(
        .locked, "another program holds the write lock of \(path), so nothing is taken in",
        remedy: Self.unlocking(path) + "; the node goes on by itself.")
    case .diskFull:
      FlotillaError(
        .diskFull, message, remedy: "Make room; nothing was lost, and the node goes on by itself.")
    default: self
    }
  }

  /// Somebody dropped a table of Flotilla's: the journal can be made anew, the others cannot.
  init(missing table: String, path: String) {
    let name = shellWord(path)
    let what = "\(path): the table \(table) is missing; somebody has dropped it"
    guard table == "_flotilla_journal" else {
      self.init(
        .damagedSetUp, what,
        remedy: "Take Flotilla out of the file and join again: flotilla leave \(name) --force")
      return
    }
    self.init(
      .damagedSetUp, what + ", and programs cannot write to tracked tables",
      remedy: "Stop the node if it runs (flotilla stop \(name)), then: flotilla doctor \(name) "
        + "--repair, and run it again.")
  }
}

extension SQLiteError {
  /// The table of Flotilla's whose absence this error tells of: "no such table: main._flotilla_…".
  var missingOwnTable: String? {
    let start = "no such table: "
    guard primary == 1, message.hasPrefix(start),
      let name = message.dropFirst(start.count).split(separator: ".").last,
      name.hasPrefix("_flotilla_")
    else { return nil }
    return String(name)
  }
}

/// Runs `body` and reports an error of the store as one of Flotilla.
func reporting<Result>(
  _ path: String, _ body: () throws(StoreError) -> Result
) throws(FlotillaError) -> Result {
  do {
    return try body()
  } catch {
    throw FlotillaError(error, path: path)
  }
}

/// The same for work that waits.
func reporting<Result: Sendable>(
  _ path: String, isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws(StoreError) -> Result
) async throws(FlotillaError) -> Result {
  do {
    return try await body()
  } catch {
    throw FlotillaError(error, path: path)
  }
}
