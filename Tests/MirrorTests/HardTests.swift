import Foundation
import Testing

/// A site and a server under stress, compared from outside.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(15)))
struct `A mirror under stress` {
  private static let driver = "\(top)/Tests/Fixtures/mirror/mirror.py"

  private static let top = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  /// What this machine lacks for the script, or nil.
  static let obstacle: String? = {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/python3")
    process.arguments = [driver, "can"]
    process.standardOutput = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return "python3 cannot be started" }
    process.waitUntilExit()
    return process.terminationStatus == 0 ? nil : "python3-pymysql is not installed"
  }()

  /// Databases that others have made, beside the sources if they are there.
  private static let samples =
    ProcessInfo.processInfo.environment["FLOTILLA_SAMPLES"] ?? "\(top)/../shared/data"

  private static func isThere(_ sample: String) -> Bool {
    FileManager.default.isReadableFile(atPath: "\(samples)/\(sample).db")
  }

  /// Who kills is drawn from FLOTILLA_MIRROR_SEED, and goes on for FLOTILLA_MIRROR_SECONDS.
  @Test(.enabled(if: obstacle == nil, "\(obstacle ?? "")"))
  func `is equal after kills of node, server and connections while nine programs write`()
    async throws
  {
    try await stress([])
  }

  @Test(
    .enabled(if: obstacle == nil, "\(obstacle ?? "")"),
    .enabled(if: isThere("chinook") && isThere("northwind"), "the samples are not here"),
    arguments: ["chinook", "northwind"])
  func `is equal after the same in a database that somebody knows`(_ sample: String) async throws {
    try await stress(["\(Self.samples)/\(sample).db"])
  }

  private func stress(_ words: [String]) async throws {
    let environment = ProcessInfo.processInfo.environment
    let seconds = environment["FLOTILLA_MIRROR_SECONDS"].flatMap { Int($0) } ?? 4
    let seed = environment["FLOTILLA_MIRROR_SEED"].flatMap { Int($0) } ?? .random(in: 1...999_999)
    let ended = try await Office.script(
      [
        "/usr/bin/timeout", "-k", "10", "\(seconds + 500)", "/usr/bin/python3", Self.driver,
        "\(seconds)", "\(seed)",
      ] + words)
    #expect(ended.status == 0, "FLOTILLA_MIRROR_SEED=\(seed)\n\(ended.text)")
  }

  /// SQL that makes rows of values that are easily damaged.
  private static func insertions(_ draw: inout some RandomNumberGenerator) -> String {
    let integers: [Int64] = [0, -1, .min, .max, 1 << 53 + 1, 4_294_967_296]
    let texts = [
      "''", "'a '", "' a'", "'å😀'", "char(0)", "'x' || char(0) || 'y'", "char(8232)", "'''\"\\'",
      "'00'", "'1e5'", "char(65533)", "'%s\\n'", "char(55357)", "CAST(x'ff' AS TEXT)", "12", "1.5",
      "replace(hex(zeroblob(40000)), '0', 'é')", "char(10) || char(13)",
    ]
    let reals = ["0.1", "-1e308", "5e-324", "1e-300", "9e999", "3.0", "123456789.123456789"]
    let decimals = ["0.01", "-99999999.99", "12.5", "12.345", "7", "1e9", "'x'", "'5.50'"]
    let blobs = ["x''", "x'00'", "x'ff00fe'", "randomblob(3000)", "zeroblob(70000)", "'text'"]
    return (1...600).map { number in
      let real =
        Bool.random(using: &draw)
        ? reals.randomElement(using: &draw)!
        : String(Double(bitPattern: draw.next() & 0xBFEF_FFFF_FFFF_FFFF))
      let values = [
        "\(number)", String(integers.randomElement(using: &draw)!), real,
        texts.randomElement(using: &draw)!, decimals.randomElement(using: &draw)!,
        blobs.randomElement(using: &draw)!,
      ]
      let kept = values.enumerated().map {
        $0.offset > 0 && UInt8.random(in: 0...5, using: &draw) > 3 ? "NULL" : $0.element
      }
      return "INSERT INTO v VALUES (\(kept.joined(separator: ", ")));"
    }.joined(separator: "\n")
  }

  /// Values go out, are copied on the server by its own SQL, and come in again: then the copy is
  /// compared with what went out, by SQLite.
  @Test func `brings any value over and back bit for bit, or holds its row`() async throws {
    try await Office.with { office in
      var draw = SystemRandomNumberGenerator()
      let script = office.path("values.sql")
      let rows = Self.insertions(&draw)
      try """
      CREATE TABLE v(id INTEGER PRIMARY KEY, i INTEGER, r REAL, t TEXT, d NUMERIC(10,2), b BLOB);
      BEGIN; \(rows) COMMIT;
      """.write(toFile: script, atomically: true, encoding: .utf8)
      _ = try await office.open(".read \(script)", "--create")
      let held = try #require(try await office.status()["held_count"] as? Int)
      #expect(held > 20 && held < 500)
      let out = try #require(Int(try await office.server("SELECT count(*) FROM v")))
      #expect(out == 600 - held)
      try await office.server("INSERT INTO v SELECT id + 1000, i, r, t, d, b FROM v")
      try await office.siteComesTo("\(out)", "SELECT count(*) FROM v WHERE id > 1000")
      let changed = try await office.site(
        """
        SELECT a.id, quote(a.i), quote(a.r), hex(a.t), quote(a.d), quote(b.i), quote(b.r),
          hex(b.t), quote(b.d)
        FROM v a JOIN v b ON b.id = a.id + 1000 WHERE NOT (a.i IS b.i AND a.r IS b.r AND a.t IS b.t
          AND a.d IS b.d AND a.b IS b.b AND typeof(a.i) = typeof(b.i) AND typeof(a.r) = typeof(b.r)
          AND typeof(a.t) = typeof(b.t) AND typeof(a.d) = typeof(b.d)
          AND typeof(a.b) = typeof(b.b) AND hex(a.t) = hex(b.t))
        """)
      #expect(changed == "")
      // Each that was held has a value of which that can be said.
      let strange = try await office.site(
        """
        SELECT count(*) FROM v WHERE id < 1000 AND (abs(r) = 9e999 OR typeof(d) = 'text'
          OR d = 12.345 OR d = 1e9 OR typeof(b) = 'text' OR hex(t) IN ('FF', 'EDA0BD'))
        """)
      #expect(strange == "\(held)")
    }
  }
}

extension Office {
  /// Runs a script that has a server and a site of its own.
  static func script(_ words: [String]) async throws -> (status: Int32, text: String) {
    let place = try Office()
    defer { try? FileManager.default.removeItem(atPath: place.folder) }
    return try await place.run(words)
  }
}
