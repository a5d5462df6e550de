import Foundation
import Glibc
import SQLite

extension MachineFacts {
  /// What this machine, this moment and the programs beside this one are.
  static func here() throws -> MachineFacts {
    let place = try Workplace()
    func said(_ words: [String]) -> String? {
      guard let path = try? program(words[0]) else { return nil }
      return try? Child([path] + words.dropFirst(), in: place.folder)
        .wait(within: .seconds(20)).output
    }
    let inRepository = ["git", "-C", Workplace.programs]
    let commit = said(inRepository + ["rev-parse", "--short=8", "HEAD"])
    let changes = said(inRepository + ["status", "--porcelain", "--untracked-files=no"])
    let server = PostgresServer.programs.flatMap { said(["\($0)/postgres", "--version"]) }
    let openssl = said(["openssl", "version"])?.split(separator: " ").prefix(2)
    let day = Date().formatted(.iso8601.year().month().day())
    let processors = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    return MachineFacts(
      date: day, commit: (commit ?? "unknown") + (changes?.isEmpty == false ? "+" : ""),
      cores: ProcessInfo.processInfo.activeProcessorCount, processor: processor(in: processors),
      kernel: release, sqlite: Connection.libraryVersion,
      openssl: openssl?.joined(separator: " ") ?? "an OpenSSL without a program",
      postgresql: server.flatMap(postgresql), rsync: try rsync(said))
  }

  private static func rsync(_ said: ([String]) -> String?) throws -> String? {
    guard (try? program("sqlite3_rsync")) != nil else { return nil }
    // Which SQLite it was made with is all that it can tell.
    let version = said(["sqlite3_rsync", "--version"])?.split(separator: " ").first
    return "sqlite3_rsync \(version ?? "of some version")"
  }

  /// The release of the kernel (uname(2)).
  private static var release: String {
    var name = utsname()
    uname(&name)
    return withUnsafeBytes(of: &name.release) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
