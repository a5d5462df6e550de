import Flotilla
import FoundationEssentials
import Glibc

/// The unit of systemd that runs the node of one database: `flotilla@srv-clinic-clinic.db.service`,
/// and what stands beside the common `flotilla@.service` for it.
struct ServiceUnit: Equatable {
  /// The absolute path of the database.
  let database: String
  /// Who owns the database and runs the node, by name; by number in an image, whose names are its
  /// own. Nil of a database that is gone.
  let user: String?
  let group: String?

  static let template = "flotilla@.service"
  /// "The total length of the unit name including the suffix must not exceed 255 characters"
  /// (systemd.unit(5)).
  private static let longest = 255

  /// The unit of a file within the image of a system, whose real path is `root`; empty for this
  /// system. A unit that was set up before may be of a file that is gone.
  init(
    of path: String, within root: String = "", mayBeGone: Bool = false
  ) throws(FlotillaError) {
    let file = Replica(path: path).database
    var status = stat()
    let isThere = stat(file, &status) == 0
    guard isThere || errno == ENOENT || errno == ENOTDIR else {
      throw FlotillaError(.system, "cannot look at \(path): \(String(cString: strerror(errno)))")
    }
    guard isThere || mayBeGone else {
      throw FlotillaError(
        .notADatabase, "there is no file \(path)",
        remedy: "Name the database as it is called from this folder.")
    }
    guard file.utf8.starts(with: (root + "/").utf8) else {
      throw FlotillaError(
        .refused, "\(file) is not in the image \(root)",
        remedy: "Name the database as it lies in the image: \(root)/…")
    }
    database = String(decoding: file.utf8.dropFirst(root.utf8.count), as: UTF8.self)
    if isThere {
      let isHere = root.isEmpty
      let user = isHere ? getpwuid(status.st_uid) : nil
      let group = isHere ? getgrgid(status.st_gid) : nil
      self.user = user.map { String(cString: $0.pointee.pw_name) } ?? String(status.st_uid)
      self.group = group.map { String(cString: $0.pointee.gr_name) } ?? String(status.st_gid)
    } else {
      (user, group) = (nil, nil)
    }
    try check()
  }

  init(database: String, user: String, group: String) {
    self.database = database
    self.user = user
    self.group = group
  }

  private func check() throws(FlotillaError) {
    guard name.utf8.count <= Self.longest else {
      throw FlotillaError(
        .refused, "the path of \(database) is too long for the name of a unit of systemd",
        remedy: "Move the database with its folder to a shorter path.")
    }
    guard !database.contains(where: \.isNewline) else {
      throw FlotillaError(.refused, "a unit of systemd cannot name a path with a line end in it")
    }
  }

  var folder: String { URL(filePath: database).deletingLastPathComponent().path }
  var name: String { "flotilla@\(Self.escaped(database)).service" }

  /// As `systemd-escape --path` does: a slash is a dash, and other signs are written as numbers.
  static func escaped(_ path: String) -> String {
    let trimmed = path.utf8.drop { $0 == UInt8(ascii: "/") }
    return trimmed.enumerated().map { place, byte in
      switch byte {
      case UInt8(ascii: "/"): "-"
      case UInt8(ascii: ".") where place == 0: hexadecimal(byte)
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "_"),
        UInt8(ascii: "."):
        String(UnicodeScalar(byte))
      default: hexadecimal(byte)
      }
    }.joined()
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16)
    return "\\x" + (digits.count == 1 ? "0" + digits : digits)
  }

  /// What systemd has to know of this database alone: whose it is, and where it may write.
  ///
  /// Homes are hidden from the service; the folder of a database that lies in one is shown to it.
  var settings: String {
    let place = Self.setting(folder)
    let owner = [("User", user), ("Group", group)].map { name, value in
      value.map { "\(name)=\(Self.percent($0))\n" } ?? ""
    }.joined()
    let isInHome = ["/home/", "/root/", "/run/user/"].contains { (folder + "/").hasPrefix($0) }
    return """
      # Written by: flotilla service \(shellWord(database)) enable
      [Service]
      \(owner)\(isInHome ? "BindPaths" : "ReadWritePaths")=\(place)

      """
  }

  /// A path as one word of a unit file, in which `%` begins a name of systemd's own.
  private static func setting(_ path: String) -> String {
    "\"" + percent(escaped(path, "\\\":", by: "\\")) + "\""
  }

  private static func percent(_ text: String) -> String { escaped(text, "%", by: "%") }

  /// A text with another sign before each of some. On bytes: to Swift a sign with a mark over it is
  /// another one.
  private static func escaped(
    _ text: String, _ signs: String, by sign: Unicode.Scalar
  ) -> String {
    let signs = Array(signs.utf8)
    let bytes = text.utf8.flatMap { signs.contains($0) ? [UInt8(ascii: sign), $0] : [$0] }
    return String(decoding: bytes, as: UTF8.self)
  }
}
