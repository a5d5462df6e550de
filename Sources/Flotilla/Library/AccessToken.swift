import CLinux
import FoundationEssentials
import Glibc
import Network
import Store

/// What somebody may do with a table.
public enum TableRight: String, Codable, Sendable, Comparable, CaseIterable {
  case none
  case read
  case write

  public static func < (left: TableRight, right: TableRight) -> Bool {
    allCases.firstIndex(of: left)! < allCases.firstIndex(of: right)!
  }
}

/// A client of the gateway and what it may do. The token itself is kept nowhere: of its 256 random
/// bits there is a hash.
package struct AccessToken: Codable, Sendable, Equatable {
  package var name: String
  /// SHA-256 of the token's text, in hexadecimal digits.
  package var hash: String
  /// By table, as the site called it first; `*` stands for all others.
  package var tables: [String: TableRight]
  /// In ms since 1970 by the time of the site; nil if it never ends.
  package var created: Int64
  package var expires: Int64?
  /// Whether the names of its tables are those that the site gave them first. Nil in a token of a
  /// version before, whose tables are named as they were called here when it was made.
  package var namesFirst: Bool?

  package static let everything = "*"

  /// What it may do with the table that the site called so first.
  package func right(to table: String) -> TableRight {
    tables[table] ?? tables.first { isSameName($0.key, table) }?.value
      ?? tables[Self.everything] ?? .none
  }

  /// What it may do with a table that the site called so first, and that has another name here. One
  /// of a version before may mean either name.
  package func right(to first: String, here: String) -> TableRight {
    namesFirst == true ? right(to: first) : min(right(to: first), right(to: here))
  }

  /// What it may do with every table.
  var least: TableRight {
    tables.values.reduce(tables[Self.everything] ?? .none) { min($0, $1) }
  }

  /// Whether it may read every table: then it may also know how the site is.
  package var readsAll: Bool { least >= .read }

  /// Whether it may write every table: then it may also settle conflicts.
  package var writesAll: Bool { least == .write }

  package func isOver(at moment: Int64) -> Bool { expires.map { $0 <= moment } ?? false }

  /// The hash by which a token is found.
  package static func hash(of token: String) -> String {
    Hashing.sha256(Array(token.utf8)).map { byte in
      String(UInt16(byte) + 0x100, radix: 16).dropFirst()
    }.joined()
  }

  /// 256 random bits as a text that is seen to be a token.
  package static func draw() -> String {
    let bits = Data(Randomness.bytes(32)).base64EncodedString()
    return "flotilla_"
      + bits.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }
}

/// The tokens of a replica, in a file beside it. They are this machine's own affair.
package struct TokenFile: Sendable {
  package let path: String

  package init(_ replica: Replica) { path = replica.sidecar.folder + "/tokens.json" }

  /// A client may have so many tokens, all together.
  static let most = 1_000

  /// What tells one state of the file from another; nil if there is none.
  package var mark: [Int64]? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return [
      Int64(status.st_ino), Int64(status.st_size), Int64(status.st_mtim.tv_sec),
      Int64(status.st_mtim.tv_nsec),
    ]
  }

  package func read() throws(FlotillaError) -> [AccessToken] {
    guard let data = FileManager.default.contents(atPath: path) else {
      guard access(path, F_OK) != 0 else { throw FlotillaError.file("cannot read \(path)") }
      return []
    }
    guard let tokens = try? JSONDecoder().decode([AccessToken].self, from: data) else {
      throw FlotillaError(
        .system, "\(path) is damaged", remedy: "Remove it, and make the tokens anew.")
    }
    return tokens
  }

  /// Changes what is there, while no other command does.
  func change<Result>(
    _ body: (inout [AccessToken]) throws(FlotillaError) -> Result
  ) throws(FlotillaError) -> Result {
    let lock = OwnFile.open(path + ".lock", O_RDWR)
    guard lock >= 0 else { throw FlotillaError.file("cannot open \(path).lock") }
    defer { close(lock) }
    while flock(lock, LOCK_EX) != 0 {
      guard errno == EINTR else { throw FlotillaError.file("cannot lock \(path).lock") }
    }
    var tokens = try read()
    let result = try body(&tokens)
    guard let data = try? JSONEncoder().encode(tokens) else {
      throw FlotillaError(.system, "cannot write \(path)")
    }
    try SecretFile.write(Array(data), to: path)
    return result
  }
}
