import Flotilla
import FoundationEssentials
import Glibc

/// What the operator has asked for, in a file beside the database: `mirror.json`. Commands write
/// it, the mirror reads it.
struct MirrorSettings: Codable, Sendable, Equatable {
  /// A table of the replica and where it is on the server.
  struct Table: Codable, Sendable, Equatable {
    var number: Int
    var table: String
    var schema: String
    var name: String
    /// How the site called it first: by this it is found when it was renamed. Nil in settings of an
    /// earlier version.
    var first: String?

    /// Whether it says the same of where a table is.
    func isSame(as other: Table) -> Bool {
      number == other.number && table == other.table && schema == other.schema
        && name == other.name
    }
  }

  /// Random: by this the server knows who mirrors.
  var holder: String
  var url: String
  /// Where the password is; nil if it is in the folder itself.
  var passwordFile: String?
  var tables: [Table]
  var isPaused = false
  /// How often the operator has asked for a comparison.
  var comparisons = 0
  /// Whose rows stand in one of them, however many differ.
  var decision: Decision?
  /// The highest number that a table of this mirror has had: none is given twice.
  var lastNumber: Int?

  struct Decision: Codable, Sendable, Equatable {
    var side: MirrorSide
    var comparison: Int
  }
}

/// One of both sides of a mirror.
public enum MirrorSide: String, Codable, Sendable {
  case site
  case server
}

/// Where the settings, the password and what is known of the mirror are kept.
struct MirrorFolder: Sendable {
  let replica: Replica

  private var path: String { replica.folder + "/mirror.json" }
  private var secret: String { replica.folder + "/mirror-password" }
  private var statePath: String { replica.folder + "/mirror-state.json" }

  /// What tells one state of the settings from another; nil if there are none.
  var mark: [Int64]? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return [
      Int64(status.st_ino), Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec),
    ]
  }

  /// Whether the settings are newer than a moment, in ms since 1970: who works by them begins anew.
  func isSettled(after moment: Int64) -> Bool {
    guard let mark else { return false }
    return mark[1] * 1_000 + mark[2] / 1_000_000 >= moment
  }

  func settings() throws(FlotillaError) -> MirrorSettings? {
    guard let data = FileManager.default.contents(atPath: path) else {
      guard access(path, F_OK) == 0 else { return nil }
      throw FlotillaError(.readOnly, "cannot read \(path)")
    }
    guard let settings = try? JSONDecoder().decode(MirrorSettings.self, from: data) else {
      throw FlotillaError(
        .system, "\(path) is damaged",
        remedy: "Remove it, and set the mirror up anew: flotilla mirror DB take URL")
    }
    return settings
  }

  /// The settings; an error if there is no mirror.
  func required() throws(FlotillaError) -> MirrorSettings {
    guard let settings = try settings() else {
      guard access(replica.path, F_OK) == 0 else {
        throw FlotillaError(
          .notADatabase, "there is no file \(replica.path)", remedy: "Check the name.")
      }
      throw FlotillaError(
        .refused, "\(replica.path) has no mirror",
        remedy: "See: flotilla mirror \(shellWord(replica.path)) add --help")
    }
    return settings
  }

  func write(_ settings: MirrorSettings) throws(FlotillaError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(settings) else {
      throw FlotillaError(.system, "cannot write \(path)")
    }
    try SecretFile.write(Array(data), to: path)
  }

  func keep(password: String) throws(FlotillaError) {
    try SecretFile.write(Array(password.utf8), to: secret)
  }

  /// The password as it is now: its file may have got another one.
  func password(_ settings: MirrorSettings) throws(FlotillaError) -> String {
    try Self.password(in: settings.passwordFile ?? secret)
  }

  /// The first line of a file.
  static func password(in file: String) throws(FlotillaError) -> String {
    guard let data = try? ShortFile.read(file), data.count <= 4_096 else {
      throw FlotillaError(
        .readOnly, "cannot read the password in \(file)",
        remedy: "It must be a file of one line that this user can read.")
    }
    let line = data.prefix { $0 != 10 && $0 != 13 }
    return String(decoding: line, as: UTF8.self)
  }

  func remove() throws(FlotillaError) {
    for file in [path, secret, statePath] where unlink(file) != 0 && errno != ENOENT {
      throw FlotillaError(.readOnly, "cannot remove \(file)")
    }
  }

  /// What the mirror said of itself last; nil if that cannot be known.
  func state() -> MirrorState? {
    FileManager.default.contents(atPath: statePath).flatMap {
      try? JSONDecoder().decode(MirrorState.self, from: $0)
    }
  }

  /// Whole or not at all; that it has reached the disk nobody waits for.
  func write(_ state: MirrorState) {
    guard let data = try? JSONEncoder().encode(state) else { return }
    let new = statePath + ".new"
    unlink(new)
    guard
      FileManager.default.createFile(
        atPath: new, contents: data, attributes: [.posixPermissions: 0o600])
    else { return }
    if rename(new, statePath) != 0 { unlink(new) }
  }
}
