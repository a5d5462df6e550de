import Flotilla
import FoundationEssentials

/// Where a server is and which database of it is meant: `mysql://user@host:3306/shop`.
///
/// `?socket=/run/mysqld/mysqld.sock` names the socket of a server on this machine, `?ca=FILE` whose
/// certificates are believed. There is no place for a password.
///
/// `mysql://user@one,two:3307,three/shop` names nodes of one cluster, each with all that there is.
public struct ServerAddress: Sendable, Equatable {
  public let host: String
  public let port: Int
  public let user: String
  public let database: String
  public let socket: String?
  public let authority: String?
  /// Further nodes of the cluster, in the order in which they are tried.
  public private(set) var others: [ServerAddress] = []

  /// So many nodes of a cluster are named at most.
  private static let mostHosts = 16

  /// Reads a URL; what is wrong with it is an error of usage.
  public init(_ text: String) throws(FlotillaError) {
    let texts = Self.alone(text)
    guard texts.count <= Self.mostHosts else {
      throw Self.wrong("it names more than \(Self.mostHosts) hosts")
    }
    try self.init(one: texts[0])
    for text in texts.dropFirst() { others.append(try Self(one: text)) }
    guard others.isEmpty || !([self] + others).contains(where: { $0.host.isEmpty }) else {
      throw Self.wrong("one of its hosts has no name")
    }
    guard others.isEmpty || socket == nil else {
      throw Self.wrong("a socket belongs to one server, and it names several hosts")
    }
  }

  /// The URL once for each of the hosts that it names.
  private static func alone(_ text: String) -> [String] {
    guard let scheme = text.firstRange(of: "://") else { return [text] }
    let rest = text[scheme.upperBound...]
    let authority = rest.prefix { !"/?#".contains($0) }
    let start = authority.lastIndex(of: "@").map { authority.index(after: $0) }
    let hosts = authority[(start ?? authority.startIndex)...]
    let (before, after) = (text[..<hosts.startIndex], text[hosts.endIndex...])
    return hosts.split(separator: ",", omittingEmptySubsequences: false)
      .map { "\(before)\($0)\(after)" }
  }

  private init(one text: String) throws(FlotillaError) {
    guard let url = URLComponents(string: text), let scheme = url.scheme,
      ["mysql", "mariadb"].contains(scheme.lowercased())
    else {
      throw Self.wrong("this is no address of a server")
    }
    guard url.password == nil else {
      throw FlotillaError(
        .usage, "a password does not belong into an address: others can read the arguments",
        remedy: "Take it out, and give it in a file: --password-file FILE")
    }
    guard let user = url.user, !user.isEmpty else { throw Self.wrong("it names no user") }
    let database = url.path.hasPrefix("/") ? String(url.path.dropFirst()) : url.path
    guard !database.isEmpty, !database.contains("/"), database.utf8.count <= 64 else {
      throw Self.wrong("it names no database of the server")
    }
    var (socket, authority): (String?, String?)
    for item in url.queryItems ?? [] {
      switch item.name {
      case "socket": socket = item.value
      case "ca": authority = item.value
      default: throw Self.wrong("\(item.name) is nothing that an address can say")
      }
    }
    guard (1...65_535).contains(url.port ?? 3306) else { throw Self.wrong("the port is none") }
    let host = url.host ?? ""
    self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    self.port = url.port ?? 3306
    (self.user, self.database, self.socket, self.authority) = (user, database, socket, authority)
    guard socket == nil || isLocal else {
      throw Self.wrong("a socket is on this machine, and \(host) is not")
    }
  }

  private static func wrong(_ why: String) -> FlotillaError {
    FlotillaError(.usage, why, remedy: "Write it so: mysql://USER@HOST:3306/DATABASE")
  }

  /// Whether nothing of it goes over a network.
  public var isLocal: Bool {
    if host.isEmpty || host == "localhost" || host == "::1" { return true }
    // 127.example.org is a name like others.
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  /// Whether it is a socket of the file system: the library takes `localhost` for that, too.
  var isFile: Bool { socket != nil || host.isEmpty || host == "localhost" }

  /// Without what only this machine's files say.
  public var text: String {
    let places = ([self] + others).map(\.place).joined(separator: ",")
    return "mysql://\(user)@\(places)/\(database)"
  }

  /// The host, and its port if that counts.
  var place: String {
    let name = host.isEmpty ? "localhost" : host.contains(":") ? "[\(host)]" : host
    return socket == nil ? "\(name):\(port)" : name
  }
}
