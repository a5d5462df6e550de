import Foundation
import Glibc
import Synchronization
import Testing

/// Three servers in the folder of an office that are one Galera cluster. They speak to each other
/// on ports of this machine alone, and end with the office.
final class OfficeCluster: Sendable {
  private static let provider = "/usr/lib/galera/libgalera_smm.so"

  /// Whether this machine has what a cluster needs.
  static let isPossible = Office.isPossible && access(provider, R_OK) == 0
  static let why: Comment = "galera-4, mariadb-server-core or mariadb-client-core is not installed"

  /// Where the script is by which a node learns from which position it goes on.
  private static let scripts = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../Fixtures/mirror").standardized.path

  private let office: Office
  /// Of each node three: for programs, for the group, for what a node has missed.
  private let ports: [Int]
  private let processes = Mutex<[Int: Process]>([:])

  private init(_ office: Office) throws {
    self.office = office
    ports = try Self.freePorts(9)
  }

  /// A cluster whose nodes 1, 2 and 3 run, with the database `shop` and a user for the mirror.
  static func with(_ body: (Office, OfficeCluster) async throws -> Void) async throws {
    try await Office.prepared { office in
      let cluster = try OfficeCluster(office)
      try await cluster.found()
      try await body(office, cluster)
    }
  }

  /// The name of the socket of a node.
  func socket(_ number: Int) -> String { number == 1 ? "socket" : "socket\(number)" }

  /// The address that names all nodes.
  var url: String {
    let places = (1...3).map { "127.0.0.1:\(ports[3 * $0 - 3])" }
    return "mysql://flo@\(places.joined(separator: ","))/shop"
  }

  /// As a power cut ends it.
  func kill(_ number: Int) throws {
    try #require(processes.withLock { $0.removeValue(forKey: number) }).die()
  }

  /// What a node says of the cluster.
  func status(_ number: Int, _ name: String) async throws -> String {
    let said = try await office.trial("SHOW STATUS LIKE 'wsrep_\(name)'", at: socket(number))
    return said.text.split(separator: "\t").last.map(String.init) ?? ""
  }

  /// All nodes begin with copies of the files of one that has been a cluster of its own: so each
  /// needs no more than what was written since.
  private func found() async throws {
    try FileManager.default.moveItem(atPath: office.path("data"), toPath: office.path("data1"))
    try await start(1, founds: true)
    try await office.server(
      "CREATE USER flo@127.0.0.1 IDENTIFIED BY 'secret'; GRANT ALL ON shop.* TO flo@127.0.0.1")
    let first = try #require(processes.withLock { $0[1] })
    first.terminate()
    first.waitUntilExit()
    for number in [2, 3] {
      let copied = try await office.run(
        ["cp", "-a", office.path("data1"), office.path("data\(number)")])
      try #require(copied.status == 0, "\(copied.text)")
    }
    try await start(1, founds: true)
    for number in [2, 3] { try await start(number) }
    #expect(try await status(1, "cluster_size") == "3")
  }

  private func start(_ number: Int, founds: Bool = false) async throws {
    let ports = Array(ports[(3 * number - 3)...].prefix(3))
    let options = [
      "gmcast.listen_addr=tcp://127.0.0.1:\(ports[1])", "base_port=\(ports[1])",
      "ist.recv_addr=127.0.0.1:\(ports[2])", "gcache.size=16M", "pc.announce_timeout=PT0.2S",
      "pc.recovery=false",
    ]
    let founders = founds ? "" : "127.0.0.1:\(self.ports[1])"
    let process = try office.start(
      [
        "PATH=\(Self.scripts):/usr/sbin:/usr/bin:/sbin:/bin", "mariadbd", "--no-defaults",
        "--datadir=\(office.folder)/data\(number)", "--socket=\(office.path(socket(number)))",
        "--bind-address=127.0.0.1", "--port=\(ports[0])", "--skip-name-resolve",
        "--user=\(NSUserName())", "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M",
        "--innodb-autoinc-lock-mode=2", "--binlog-format=ROW",
        "--log-bin-trust-function-creators=1", "--wsrep-on=ON",
        "--wsrep-provider=\(Self.provider)", "--wsrep-cluster-name=office",
        "--wsrep-node-name=node\(number)", "--wsrep-node-address=127.0.0.1",
        "--wsrep-sst-method=flotilla",
        "--wsrep-provider-options=\(options.joined(separator: ";"))",
        "--wsrep-cluster-address=gcomm://\(founders)",
      ] + (founds ? ["--wsrep-new-cluster"] : []), "cluster-\(number)")
    processes.withLock { $0[number] = process }
    let isUp = try await eventually {
      try await status(number, "local_state_comment") == "Synced"
    }
    try #require(isUp, "node \(number) does not start")
  }

  /// Ports that nobody has at present.
  static func freePorts(_ count: Int) throws -> [Int] {
    var descriptors: [Int32] = []
    defer { for descriptor in descriptors { close(descriptor) } }
    return try (0..<count).map { _ in
      let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      descriptors.append(descriptor)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let status = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, length) + getsockname(descriptor, $0, &length)
        }
      }
      try #require(descriptor >= 0 && status == 0)
      return Int(UInt16(bigEndian: address.sin_port))
    }
  }
}
