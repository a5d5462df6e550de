import CLinux
import FoundationEssentials
import Glibc
import Network
import Store

/// The folder `DB-flotilla/keys/`: secrets of this copy, for its owner alone.
struct KeyFolder: Sendable {
  let folder: String
  let database: String

  init(_ sidecar: Sidecar) {
    folder = sidecar.folder + "/keys"
    database = sidecar.database
  }

  private var nodePath: String { folder + "/node.key" }
  private var sitePath: String { folder + "/site.key" }
  private var invitationsPath: String { folder + "/invitations.json" }

  /// Makes the folder with the keys of a new member.
  func create(_ keys: NodeKeys) throws(FlotillaError) {
    _ = try OwnFolder.make(folder, forOwnerOf: ".")
    try write(keys.node.pem, to: nodePath)
    if let site = keys.site { try write(site.pem, to: sitePath) }
  }

  /// Reads the keys; refuses them if anybody but their owner can.
  func keys() throws(FlotillaError) -> NodeKeys {
    try checkModes()
    guard let node = try key(at: nodePath) else {
      throw FlotillaError(
        .damagedSetUp, "\(nodePath) is missing, so this node cannot show who it is",
        remedy: "Put the folder back, or start over with: flotilla leave \(shellWord(database)) "
          + "--force, then join again.")
    }
    return NodeKeys(node: node, site: try key(at: sitePath))
  }

  /// Keeps the site's root key, too.
  func save(site: SigningKey) throws(FlotillaError) { try write(site.pem, to: sitePath) }

  private var folders: [String] { [String(folder.dropLast("/keys".count)), folder] }
  private var secrets: [String] { [nodePath, sitePath, invitationsPath] }

  /// Lets nobody but the owner read the keys from now on.
  func closeToOthers() {
    let outer = OwnFile.folder(of: folder)
    guard let place = OpenFolder(OwnFile.folder(of: outer)),
      let owner = place.status(of: OwnFile.name(of: database))?.st_uid
    else { return }
    place.closeToOthers(OwnFile.name(of: outer), of: owner)
    guard let own = place.folder(OwnFile.name(of: outer)) else { return }
    own.closeToOthers(OwnFile.name(of: folder), of: owner)
    guard let keys = own.folder(OwnFile.name(of: folder)) else { return }
    for path in secrets { keys.closeToOthers(OwnFile.name(of: path), of: owner) }
  }

  /// Throws if somebody else could have read a key, or have put it there.
  func checkModes() throws(FlotillaError) {
    var main = stat()
    let owner = stat(database, &main) == 0 ? main.st_uid : geteuid()
    for path in folders + secrets {
      var status = stat()
      guard stat(path, &status) == 0 else { continue }
      guard status.st_uid == owner || status.st_uid == geteuid() else {
        throw FlotillaError(
          .permissions,
          "\(path) belongs to another user than \(database), who may have put it there",
          remedy: "If it is that of this node: chown \(owner) \(shellWord(path))")
      }
      let others = status.st_mode & 0o077
      guard others != 0 else { continue }
      let mode = String(status.st_mode & 0o777, radix: 8)
      let isFolder = status.st_mode & S_IFMT == S_IFDIR
      throw FlotillaError(
        .permissions,
        "\(path) has mode \(mode), so other users of this machine may have read this node's keys",
        remedy: "chmod \(isFolder ? "700" : "600") \(shellWord(path))   (and if they may have "
          + "been read: leave, and join again with a new key)")
    }
  }

  /// What is stored about invitations; nothing if there are none.
  func invitations() throws(FlotillaError) -> Data? {
    try read(invitationsPath).map { Data($0.utf8) }
  }

  func save(invitations: Data) throws(FlotillaError) {
    try write(String(decoding: invitations, as: UTF8.self), to: invitationsPath)
  }

  private func key(at path: String) throws(FlotillaError) -> SigningKey? {
    guard let text = try read(path) else { return nil }
    guard let key = SigningKey(pem: text) else {
      throw FlotillaError(
        .damagedSetUp, "\(path) is damaged: it holds no Ed25519 key",
        remedy: "Put back a copy of it, or start over with: flotilla leave \(shellWord(database)) "
          + "--force, then join again.")
    }
    return key
  }

  private func read(_ path: String) throws(FlotillaError) -> String? {
    guard access(path, F_OK) == 0 || errno != ENOENT else { return nil }
    do {
      return try String(contentsOfFile: path, encoding: .utf8)
    } catch {
      throw FlotillaError(
        .readOnly, "cannot read \(path): \(reason(of: error))",
        remedy: "Run as the owner of the database.")
    }
  }

  private func write(_ text: String, to path: String) throws(FlotillaError) {
    try SecretFile.write(Array(text.utf8), to: path)
  }
}
