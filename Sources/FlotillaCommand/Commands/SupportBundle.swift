import Flotilla
import FoundationEssentials
import Glibc

/// What somebody who helps has to know, in one file that can be read before it is sent: without
/// rows and keys.
struct SupportBundle {
  /// So much of the end of a log, in bytes.
  private static let mostLog = 256 << 10
  private static let ending = "-flotilla/node.log"

  let replica: Replica

  /// One object in JSON, a line for each part. What cannot be told has the reason in its place.
  func text(doctor: Result<DoctorReport, FlotillaError>) async -> String {
    let findings = await part { () async throws(FlotillaError) in try doctor.get() }
    let status = await part { () async throws(FlotillaError) in
      try await replica.status(all: true)
    }
    let members = await part { () async throws(FlotillaError) in try await replica.members() }
    let tables = await part { () async throws(FlotillaError) in try await replica.tables() }
    let anchor = await part { () async throws(FlotillaError) in try await replica.anchor() }
    let schema = await part { () async throws(FlotillaError) in try await statements() }
    let parts: [(String, JSON)] = [
      ("made", .text(Date.now.formatted(.iso8601))), ("version", .text(Program.flotilla.version)),
      ("machine", await machine()), ("doctor", findings), ("status", status),
      ("members", members), ("tables", tables), ("anchor", anchor), ("schema", schema),
      ("log", log("")), ("log_before", log(".old")),
      ("journal", JournalExcerpt(of: replica.path)?.content(most: Self.mostLog) ?? .null),
    ]
    let lines = parts.map { "\(JSON.text($0.0)):\($0.1)" }
    return "{\n" + lines.joined(separator: ",\n") + "\n}\n"
  }

  private func part<Report>(_ ask: () async throws(FlotillaError) -> Report) async -> JSON {
    do throws(FlotillaError) {
      return JSON(reflecting: try await ask())
    } catch {
      return .object(["error": .text(error.description)])
    }
  }

  /// The statements that made tables, indexes, triggers and views; statistics have values of rows.
  private func statements() async throws(FlotillaError) -> JSON {
    let report = try await replica.sql(
      "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE '\\_flotilla\\_%' "
        + "ESCAPE '\\' ORDER BY rowid")
    return .array(report.rows.compactMap { $0.first }.map { JSON($0) })
  }

  /// The last lines of a log of the node in the background; null if there is none.
  private func log(_ end: String) -> JSON {
    let path = replica.database + Self.ending + end
    guard let bytes = FileManager.default.contents(atPath: path) else { return .null }
    let lines = String(decoding: bytes.suffix(Self.mostLog), as: UTF8.self).split(separator: "\n")
    let whole = bytes.count > Self.mostLog ? lines.dropFirst() : lines[...]
    return .array(whole.filter(Self.isOwn).map { .text(String($0)) })
  }

  /// Commands of the operator write into the log, too, and may have been given rows: what begins
  /// with no time of ours is left out.
  private static func isOwn(_ line: Substring) -> Bool {
    line.prefixMatch(of: #/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} /#) != nil
      || line.hasPrefix(#"{"message":"#) || line.hasPrefix(#"{"database":"#)
  }

  /// Debian's name, the kernel, what SQLite that is, and how large the machine is.
  private func machine() async -> JSON {
    var kernel = utsname()
    uname(&kernel)
    let release = withUnsafeBytes(of: kernel.release) {
      String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    let system = (try? String(contentsOfFile: "/etc/os-release", encoding: .utf8))?
      .split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }?
      .dropFirst("PRETTY_NAME=".count).filter { $0 != "\"" }
    let memory = (sysconf(Int32(_SC_PHYS_PAGES)) * sysconf(Int32(_SC_PAGESIZE))) >> 20
    return .object([
      "kernel": .text(release), "system": system.map(JSON.text) ?? .null,
      "processors": .number("\(sysconf(Int32(_SC_NPROCESSORS_ONLN)))"),
      "memory_mib": .number("\(memory)"),
      "sqlite": await part { () async throws(FlotillaError) in
        let report = try await replica.sql("SELECT sqlite_version()")
        return report.rows.first?.first.map { JSON($0) } ?? .null
      },
    ])
  }

  /// Writes it to a file that is not there yet, for its owner alone.
  static func write(_ text: String, to path: String) throws(FlotillaError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw FlotillaError(
        .system, "cannot write \(path): \(String(cString: strerror(errno)))",
        remedy: "Name a file that is not there yet, in a folder that can be written.")
    }
    defer { close(descriptor) }
    guard writeAll(text, to: descriptor) == 0, fsync(descriptor) == 0 else {
      let reason = String(cString: strerror(errno))
      unlink(path)
      throw FlotillaError(.system, "cannot write \(path): \(reason)", remedy: "Make room.")
    }
  }
}
