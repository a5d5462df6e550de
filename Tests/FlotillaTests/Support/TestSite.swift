import Foundation
import Network
import Replication
import SQLite
import Store
import Testing

@testable import Flotilla

/// A site in a folder of its own: replicas with nodes in this process, on loopback.
actor TestSite {
  static let schema = """
    CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, text TEXT);
    CREATE TABLE line(item TEXT NOT NULL, number INTEGER NOT NULL, text TEXT,
      PRIMARY KEY(item, number));
    """

  let folder: String
  let root = SigningKey()
  private(set) var membership: Membership
  private var nodes: [Node] = []
  private var hasTracked = false

  private init(isClosed: Bool) throws {
    membership = Membership(rootKey: root.publicKey, notary: .openSSL)
    if isClosed { _ = membership.sign(.close(besides: []), by: membership.site, with: root) }
    folder = NSTemporaryDirectory() + "flotilla-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  /// Makes a site, lets `body` work with it, and ends all its nodes whatever happens.
  /// One that is not closed is as a version before has founded it.
  static func with(
    isClosed: Bool = true, _ body: (TestSite) async throws -> Void
  ) async throws {
    let site = try TestSite(isClosed: isClosed)
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(site))
    } catch {
      result = .failure(error)
    }
    await site.end()
    try result.get()
  }

  private func end() async {
    for node in nodes { await node.stop() }
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// A file with the schema that is a replica of this site; the first one tracks all tables.
  func replica(
    _ name: String, schema: String = TestSite.schema, role: Role = .writer
  ) async throws -> TestReplica {
    let replica = TestReplica(name: name, path: "\(folder)/\(name).db")
    let application = try Connection(path: replica.path, mode: .create)
    try application.execute(schema)
    let keys = NodeKeys(site: hasTracked ? nil : root)
    admit(keys, name, hasTracked ? role : .admin)
    try replica.library.create(identities(keys, name), keys)
    guard hasTracked else {
      hasTracked = true
      _ = try await replica.library.track(.all, rule: nil)
      // What a test makes later it tracks by name.
      _ = try await replica.library.take(newTables: false)
      return replica
    }
    // Its tables are the site's, as those of a file that joins.
    try application.execute(
      """
      INSERT INTO _flotilla_choice SELECT name, 'ended' FROM sqlite_schema
      WHERE type = 'table' AND name NOT GLOB '_flotilla_*' AND name NOT GLOB 'sqlite_*'
      """)
    return replica
  }

  /// Makes somebody a member by the root's word; nodes hear of it by themselves.
  func admit(_ keys: NodeKeys, _ name: String, _ role: Role = .writer) {
    let site = membership.site
    _ = membership.sign(.admit(key: keys.node.publicKey, role: role), by: site, with: root)
    _ = membership.sign(
      .introduce(node: keys.identity, name: name, words: ""), by: site, with: root)
  }

  /// Takes in what somebody has signed.
  func take(_ statements: [SignedStatement]) { _ = membership.unite(statements) }

  /// Who the replica of a member is, and all that was signed so far.
  func identities(_ keys: NodeKeys, _ name: String) -> ReplicaFile.Identities {
    ReplicaFile.Identities(
      site: membership.site, siteName: "Test", node: keys.identity, nodeName: name,
      origin: Origin.of(keys.identity, life: 1, .openSSL), life: 1, rootKey: root.publicKey,
      statements: membership.all)
  }

  /// A stream to a node as a member opens it that says only what the test says; without `keys` as
  /// somebody who was just admitted. Says Hello first.
  func talk(
    to node: Node, as keys: NodeKeys? = nil, _ name: String = "p",
    standing: CutStanding = CutStanding()
  ) async throws -> MessageLink {
    let who = keys ?? NodeKeys()
    if keys == nil { admit(who, name) }
    let channel = try await channel(to: node, as: who)
    let link = MessageLink(channel: channel)
    var hello = await hello(of: who, name, to: node)
    hello.standing = standing
    try await link.send(.hello(hello))
    return link
  }

  func hello(of keys: NodeKeys, _ name: String, to node: Node) async -> Hello {
    Hello(
      version: Session.versions.upperBound, purpose: .member, site: membership.site,
      node: keys.identity, name: name, run: 1, clock: Uptime.wall, port: 0, schema: 0,
      statements: await node.roster.hash)
  }

  func channel(
    to node: Node, as keys: NodeKeys, for purpose: TLSContext.Purpose = .member
  ) async throws -> TLSChannel {
    let certificate = try Certificate(
      of: keys.node,
      credential: SignedStatement.encode(membership.credential(of: keys.identity)))
    let context = try TLSContext(dialling: keys.node, certificate, judge: { _, _ in .trusted })
    return try await TLSChannel.dial(
      over: try await SocketChannel.connect(to: Endpoint(parsing: node.address)), context,
      for: purpose, timeout: .seconds(5))
  }

  /// Starts the node of a replica that knows these addresses.
  func run(
    _ replica: TestReplica, to peers: [String] = [], listen: String = "127.0.0.1:0",
    within timeout: Duration? = nil, machine: MachineClock = .here,
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws -> Node {
    var options = RunOptions()
    options.listen = listen
    options.peers = peers
    options.discovery = false
    let node = try await Node(
      path: replica.path, mode: .lasting, options: options, within: timeout, machine: machine,
      log: { log($0.text) })
    nodes.append(node)
    try await node.start()
    return node
  }

  /// Starts the node of a replica that dials these nodes.
  func run(
    _ replica: TestReplica, to others: [Node], listen: String = "127.0.0.1:0",
    machine: MachineClock = .here
  ) async throws -> Node {
    var addresses: [String] = []
    for other in others { addresses.append(try await other.address) }
    return try await run(replica, to: addresses, listen: listen, machine: machine)
  }
}

/// One replica, and the application that uses its file.
struct TestReplica: Sendable {
  let name: String
  let path: String

  var library: Replica { Replica(path: path) }

  func write(_ sql: String) throws {
    let connection = try Connection(path: path)
    connection.setBusyTimeout(milliseconds: 5_000)
    try connection.execute(sql)
  }

  /// The rows of a query, values joined by `|`.
  func rows(_ sql: String) throws -> [String] {
    let connection = try Connection(path: path)
    connection.setBusyTimeout(milliseconds: 5_000)
    return try connection.rows(sql).map { row in
      row.map(Self.text).joined(separator: "|")
    }
  }

  func count(_ table: String = "item") throws -> Int {
    Int(try rows("SELECT count(*) FROM \(table)")[0]) ?? -1
  }

  private static func text(_ value: SQLite.Value) -> String {
    switch value {
    case .null: "NULL"
    case .integer(let number): "\(number)"
    case .real(let number): "\(number)"
    case .text(let bytes): String(decoding: bytes, as: UTF8.self)
    case .blob(let bytes): "\(bytes)"
    }
  }
}

extension Node {
  /// Where this node listens.
  var address: String {
    get throws { "127.0.0.1:\(try #require(port))" }
  }

  var connectedCount: Int { peers.values.count { $0.session != nil } }

  /// Rows sent to all peers so far.
  var sentRows: Int { peers.values.reduce(0) { $0 + $1.traffic.sentRows } }

  /// In sync with all members that it knows, of which there are some.
  var isInSync: Bool {
    get async throws {
      let status = try await status(all: true)
      return status.in_sync && !status.peers.isEmpty
    }
  }
}

/// Asks again and again until the answer is yes or the time is over; gives the last answer.
func eventually(
  within limit: Duration = .seconds(10), _ condition: () async throws -> Bool
) async throws -> Bool {
  let end = ContinuousClock.now + limit
  while true {
    if try await condition() { return true }
    guard ContinuousClock.now < end else { return false }
    try await Task.sleep(for: .milliseconds(5))
  }
}
