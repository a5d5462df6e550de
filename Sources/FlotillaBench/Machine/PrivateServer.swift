import Foundation
import Glibc
import Mirror

/// A MariaDB server of one measurement, on a socket in its folder.
final class PrivateServer {
  let url: String
  let passwordFile: String
  private let child: Child

  init(in place: Workplace) throws {
    let folder = place.folder
    let user = NSUserName()
    try Child(
      [
        try program("mariadb-install-db"), "--no-defaults", "--datadir=\(folder)/data",
        "--skip-test-db", "--auth-root-authentication-method=normal", "--user=\(user)",
      ], in: folder
    ).wait(within: .seconds(120))
    let child = try Child(
      [
        try Self.daemon(), "--no-defaults", "--datadir=\(folder)/data",
        "--socket=\(folder)/socket", "--skip-networking", "--user=\(user)",
        "--innodb-buffer-pool-size=256M",
      ], in: folder)
    url = "mysql://root@localhost/shop?socket=\(folder)/socket"
    passwordFile = "\(folder)/password"
    try "\n".write(toFile: passwordFile, atomically: true, encoding: .utf8)
    let root = try ServerAddress("mysql://root@localhost/mysql?socket=\(folder)/socket")
    try Clock.wait("the server", within: .seconds(60)) {
      if let ended = child.poll() { throw BenchError("the server ended: \(ended.error)") }
      guard let server = try? ServerConnection(root, password: "") else { return false }
      try server.execute("CREATE DATABASE IF NOT EXISTS shop CHARACTER SET utf8mb4")
      return true
    }
    self.child = child
  }

  private static func daemon() throws -> String {
    let path = "/usr/sbin/mariadbd"
    guard access(path, X_OK) == 0 else { throw BenchError("mariadb-server-core is missing") }
    return path
  }

  func connect() throws -> ServerConnection {
    try ServerConnection(ServerAddress(url), password: "")
  }

  func stop() throws {
    child.send(SIGTERM)
    try child.wait(within: .seconds(60))
  }
}
