import Flotilla
import Glibc

extension Gateway {
  /// The sockets of a gateway, and what is said of them.
  struct Opened {
    /// For this machine alone.
    private(set) var sockets: [Int32] = []
    /// For others.
    private(set) var secure: SecureSocket?
    /// Of the sockets that have one.
    private(set) var paths: [String] = []
    private(set) var port: UInt16 = 0
    private(set) var url = ""
    private(set) var remarks: [String] = []

    /// Opens all of them or none.
    init(_ place: GatewayListener.Address, _ replicas: [Replica]) throws(FlotillaError) {
      do throws(FlotillaError) {
        if place.isForOthers {
          try openToOthers(place, replicas)
        } else {
          let (socket, port) = try GatewayListener.open(place, besides: replicas)
          (sockets, self.port) = ([socket], port)
          url = "http://\(place.written):\(port)"
        }
        for replica in replicas { try openLocal(replica) }
      } catch {
        for socket in sockets { close(socket) }
        if let secure { close(secure.descriptor) }
        for path in paths { unlink(path) }
        throw error
      }
    }

    /// The first database lends its node's key: a gateway has one certificate.
    private mutating func openToOthers(
      _ place: GatewayListener.Address, _ replicas: [Replica]
    ) throws(FlotillaError) {
      guard let first = replicas.first else { return }
      let names = MachineNames.all()
      let credential = try first.webCredential(
        names: names, addresses: ["127.0.0.1", "::1"] + (place.isEvery ? [] : [place.host]))
      let (socket, port) = try GatewayListener.open(place, besides: replicas)
      let secure = SecureSocket(
        descriptor: socket, certificate: credential.certificate,
        privateKey: credential.privateKey)
      (self.secure, self.port) = (secure, port)
      guard secure.isWhole else {
        throw FlotillaError(
          .system, "the certificate of the gateway cannot be used",
          remedy: "Remove \(credential.path), and start the node again.")
      }
      let name = names.count > 1 ? names[1] : names[0]
      url = "https://\(place.isEvery ? name : place.written):\(port)"
      remarks = [
        "the gateway's certificate has the words: \(credential.words)",
        "a browser shows its SHA-256 as \(credential.fingerprint); it is in \(credential.path)",
      ]
    }

    private mutating func openLocal(_ replica: Replica) throws(FlotillaError) {
      guard let path = replica.httpSocketPath else {
        remarks.append("no place for a socket of \(replica.path) has a path that is short enough")
        return
      }
      sockets.append(try GatewayListener.openLocal(path))
      paths.append(path)
      remarks.append("programs of this machine also reach the gateway by the socket \(path)")
    }
  }
}
