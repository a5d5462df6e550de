import FoundationEssentials
import Glibc
import Network

/// What a gateway shows to browsers of other machines: a certificate of a key that is derived from
/// the node's own.
package struct WebCredential: Sendable {
  /// DER, as the next one.
  package let certificate: [UInt8]
  package let privateKey: [UInt8]
  /// Eight words for the key. They stay as long as the node's key does.
  package let words: String
  /// SHA-256 of the certificate, as browsers write it: `AB:CD:…`.
  package let fingerprint: String
  /// Where the certificate is kept, as PEM.
  package let path: String
}

extension Replica {
  /// The certificate of this node for these names and addresses. It is kept beside the keys, for a
  /// browser that was told to trust it knows it by its bytes.
  package func webCredential(
    names: [String], addresses: [String]
  ) throws(FlotillaError) -> WebCredential {
    let path = sidecar.folder + "/http.pem"
    let key = try KeyFolder(sidecar).keys().node
    let kept = try? String(contentsOfFile: path, encoding: .utf8)
    let certificate: WebCertificate
    do throws(NetworkError) {
      certificate = try WebCertificate(of: key, names: names, addresses: addresses, keeping: kept)
    } catch {
      throw FlotillaError(
        .system, "cannot make the certificate of the gateway: \(error)",
        remedy: "The names of this machine must be plain ones: \(names.joined(separator: ", "))")
    }
    if kept != certificate.pem { try SecretFile.write(Array(certificate.pem.utf8), to: path) }
    return WebCredential(
      certificate: certificate.bytes, privateKey: certificate.privateKey,
      words: PlainWords.of(Array(certificate.keyDigest.prefix(8))),
      fingerprint: certificate.digest.map { byte in
        String(UInt16(byte) + 0x100, radix: 16, uppercase: true).dropFirst()
      }.joined(separator: ":"),
      path: path)
  }

  /// Where a socket for programs of this machine is: beside the control socket. Nil if every place
  /// for it has too long a path.
  package var httpSocketPath: String? { ControlSocket.httpPath(database: sidecar.database) }
}
