import FoundationEssentials
import Glibc
import Network
import Replication

/// What a joiner keeps beside its file from when it agrees until the file is a replica: its key.
///
/// The inviter lets the same key in again by the same code. So what fails in between costs no code
/// and makes no second member: a disk that is full, a lost answer, a kill.
struct PairingNote: Sendable {
  private struct Record: Codable {
    /// The identity of the invitation, in hexadecimal digits: not the code.
    var invitation: String
    var key: String
    /// Where the inviter was.
    var address: String
  }

  let keys: NodeKeys
  /// Where the inviter was; nil if this is the first try.
  let address: String?
  private let sidecar: Sidecar
  private let invitation: String

  private var path: String { Self.path(sidecar) }
  private static func path(_ sidecar: Sidecar) -> String { sidecar.folder + "/pairing.json" }

  /// What was noted for this code; with another code it is a new key.
  init(_ sidecar: Sidecar, for secret: InvitationSecret) {
    (self.sidecar, invitation) = (sidecar, InvitationBook.digits(secret.identity))
    guard let data = FileManager.default.contents(atPath: Self.path(sidecar)),
      let record = try? JSONDecoder().decode(Record.self, from: data),
      record.invitation == invitation, let key = SigningKey(pem: record.key)
    else {
      (keys, address) = (NodeKeys(), nil)
      return
    }
    (keys, address) = (NodeKeys(node: key), record.address)
  }

  /// Writes it down, before anybody is told of the key: so it is also the first thing that must
  /// succeed on the disk.
  func keep(_ address: String) throws(FlotillaError) {
    let record = Record(invitation: invitation, key: keys.node.pem, address: address)
    guard let data = try? JSONEncoder().encode(record) else {
      throw FlotillaError(.system, "cannot write \(path)")
    }
    let database = OwnFile.name(of: sidecar.database)
    let isMade = try OwnFolder.make(sidecar.folder, forOwnerOf: database)
    do {
      try SecretFile.write(Array(data), to: path)
    } catch {
      if isMade { rmdir(sidecar.folder) }
      throw error
    }
  }

  /// A failure of the pairing, or after it; of the latter it is said what becomes of the code.
  func explained(
    _ error: FlotillaError, admitted: Pairing.Result?, as name: String
  ) -> FlotillaError {
    let first = error.remedy.map { $0.hasSuffix(".") ? $0 + " " : $0 + ". " } ?? ""
    if let admitted {
      let node = admitted.admit.nodeName
      return FlotillaError(
        error.code, "\(error.message); \(node) is a member already",
        remedy: "\(first)Then give the same command again: the code stays good for this file until "
          + "it expires. To give that up, on \(admitted.inviter.name): flotilla forget DB "
          + shellWord(node))
    }
    if access(path, F_OK) == 0 {
      return FlotillaError(
        error.code, error.message,
        remedy: "\(first)The same command goes on: the code stays good for this file until it "
          + "expires.")
    }
    // An earlier try may have got that far.
    guard address != nil, error.code == .invitation else { return error }
    return FlotillaError(
      error.code, error.message,
      remedy: "\(first)If the members know \(name) from the try before: flotilla forget DB "
        + shellWord(name))
  }

  /// The key is a member's, or never will be.
  func forget() { Self.forget(sidecar) }

  static func forget(_ sidecar: Sidecar) {
    guard unlink(path(sidecar)) == 0 else { return }
    // What else is in the folder keeps it.
    rmdir(sidecar.folder)
  }
}
