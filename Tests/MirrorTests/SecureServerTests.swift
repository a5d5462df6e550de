import Foundation
import Testing

@testable import BadInputTests

/// A server on another machine, as far as its address tells: `127.1` is a way to write an address
/// of this machine that the mirror takes for a name like others.
@Suite(.enabled(if: Office.isPossible, Office.why), .timeLimit(.minutes(10)))
struct `A server on another machine` {
  private static let host = "127.1"

  /// Who has signed for a server, for which name, and until when.
  enum Paper: String, CaseIterable, Sendable {
    case good
    case otherAuthority
    case otherName
    case ended
    case none
  }

  private func issue(_ paper: Paper, _ office: Office) async throws {
    let authority = paper == .otherAuthority ? "other" : "ca"
    let name = paper == .otherName ? "db.office.example" : Self.host
    let script = """
      set -e
      [ -e \(authority).pem ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 \
        -nodes -keyout \(authority).key -out \(authority).pem -days 30 -subj /CN=\(authority)
      openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout \(paper.rawValue).key \
        -out request.pem -subj /CN=\(name)
      printf 'subjectAltName=DNS:%s\\n' \(name) > extension
      \(paper == .ended ? FalseClock.yearBehind.words.joined(separator: " ") : "") openssl x509 \
        -req -in request.pem -CA \(authority).pem -CAkey \(authority).key -CAcreateserial \
        -days \(paper == .ended ? 100 : 30) -extfile extension -out \(paper.rawValue).pem
      """
    let made = try await office.run(["sh", "-c", script])
    try #require(made.status == 0, "\(made.text)")
  }

  private func start(_ paper: Paper, _ port: Int, _ office: Office) async throws {
    let tls =
      paper == .none
      ? ["--skip-ssl"]
      : ["--ssl-cert=\(paper.rawValue).pem", "--ssl-key=\(paper.rawValue).key"].map {
        $0.replacing("=", with: "=\(office.folder)/")
      }
    try await office.startServer(
      ["--skip-networking=0", "--bind-address=127.0.0.1", "--port=\(port)", "--skip-name-resolve"]
        + tls)
  }

  @Test(.enabled(if: FalseClock.library != nil, "libfaketime is not here"))
  func `is spoken to through TLS with a certificate that is checked, or not at all`() async throws {
    try await Office.with { office in
      try await office.server(
        """
        CREATE USER flo@127.0.0.1 IDENTIFIED BY 'secret';
        GRANT ALL ON shop.* TO flo@127.0.0.1
        """)
      for paper in Paper.allCases where paper != .none { try await issue(paper, office) }
      try await office.site("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT)")
      #expect(try await office.flotilla("init", "shop.db", "--all", "--name", "anchor").status == 0)
      let port = try #require(try OfficeCluster.freePorts(1).first)
      let plain = "mysql://flo@\(Self.host):\(port)/shop"
      func add(_ url: String) async throws -> (status: Int32, text: String) {
        try await office.flotilla(
          "mirror", "shop.db", "add", url, "--password-file", "password", "--yes", "--create")
      }
      for paper in Paper.allCases where paper != .good {
        try await office.end(try #require(office.daemon))
        try await start(paper, port, office)
        let said = try await add(plain + "?ca=\(office.path("ca.pem"))")
        #expect(said.status == 1, "\(paper): \(said.text)")
        #expect(said.text.contains("TLS is not optional for other machines"), "\(said.text)")
        // Nobody was let in, nor tried with a password.
        #expect(try await office.server("SHOW TABLES") == "")
      }
      try await office.end(try #require(office.daemon))
      // From now on the server wants it, too: so what follows goes through TLS.
      try await start(.good, port, office)
      try await office.server("ALTER USER flo@127.0.0.1 REQUIRE SSL")
      let unknown = try await add(plain)
      #expect(unknown.status == 1 && unknown.text.contains("?ca=FILE"), "\(unknown.text)")
      office.url = plain + "?ca=\(office.path("ca.pem"))"
      try await office.add(["--create"])
      _ = try await office.serve()
      try await office.follows()
      try await office.site("INSERT INTO t VALUES (1, 'site')")
      try await office.serverComesTo("site", "SELECT v FROM t")
      try await office.server("INSERT INTO t VALUES (2, 'office')")
      try await office.siteComesTo("office", "SELECT v FROM t WHERE id = 2")

      // Later somebody else is at its place.
      for paper in [Paper.otherAuthority, .otherName, .ended, .none] {
        try await office.end(try #require(office.daemon))
        try await start(paper, port, office)
        try await office.site("UPDATE t SET v = '\(paper)' WHERE id = 1")
        let says = try await eventually {
          let trouble = try await office.status()["trouble"] as? String ?? ""
          return trouble.contains("2026")
        }
        let status = try await office.status()
        #expect(says, "\(paper): \(status)")
        #expect(try await office.server("SELECT v FROM t WHERE id = 1") == "site")
      }
      try await office.end(try #require(office.daemon))
      try await start(.good, port, office)
      try await office.serverComesTo("none", "SELECT v FROM t WHERE id = 1")
    }
  }
}
