import FoundationEssentials
import Glibc
import Network
import Replication
import Store

/// Who belongs to the site, and the key that rules it.
extension Replica {
  public func members() async throws(FlotillaError) -> MembersReport {
    try await perform(.members) { node async throws(FlotillaError) in await node.members() }
  }

  /// Shuts a node out of the site, for good; a name, or the beginning of an id.
  ///
  /// What an admin has signed stands, unless it is disowned: then whom it admitted is out as well.
  public func revoke(
    _ node: String, disowning: Bool = false
  ) async throws(FlotillaError) -> RevokeReport {
    try await perform(.revoke(node: node, disowning: disowning), mode: .brief) {
      opened async throws(FlotillaError) in
      let report = try await opened.revoke(node, disowning: disowning)
      // Whoever is in reach is told before this process ends.
      await opened.untilConnected(within: .seconds(2))
      return report
    }
  }

  /// Nobody waits for a member any more that will not return: it is not listed, and what was
  /// deleted is not kept for it. If it returns, what it had not sent is sent, and the rest is
  /// fetched anew.
  public func forget(_ node: String) async throws(FlotillaError) -> ForgetReport {
    try await perform(.forget(node: node), mode: .brief) {
      opened async throws(FlotillaError) in
      // Whoever is in reach is told before this process ends; it may be this very node.
      await opened.untilConnected(within: .seconds(2))
      return try await opened.forget(node)
    }
  }

  /// Says what a member may do with a table: `read`, `write` or `none`.
  public func grant(
    _ node: String, table: String, right: String
  ) async throws(FlotillaError) -> GrantReport {
    try await perform(.grant(node: node, table: table, right: right), mode: .brief) {
      opened async throws(FlotillaError) in
      let report = try await opened.grant(node, table: table, right: right)
      await opened.untilConnected(within: .seconds(2))
      return report
    }
  }

  /// Writes the site key into a new file, for its owner alone.
  public func exportSiteKey(to file: String) async throws(FlotillaError) {
    try await check()
    let (path, sidecar) = (path, sidecar)
    try await offPool { () throws(FlotillaError) in
      let store = try reporting(path) { () throws(StoreError) in
        try Store(path: sidecar.database, inspects: false)
      }
      guard let key = try KeyFolder(sidecar).keys().site else {
        throw FlotillaError(
          .notAllowed, "the key of the site \"\(store.siteName)\" is not on this machine",
          remedy: "Export it on the machine where the site was made.")
      }
      guard access(file, F_OK) != 0 else {
        throw FlotillaError(
          .refused, "\(file) exists already", remedy: "Give a name that is free.")
      }
      let text = SiteKeyText(key).text(site: store.siteName)
      try SecretFile.write(Array(text.utf8), toNamed: file)
      var record = try sidecar.record()
      record.isSiteKeyExported = true
      try sidecar.save(record)
    }
  }

  /// Takes the site key over from a file: this node becomes an admin that can make others.
  public func importSiteKey(from file: String) async throws(FlotillaError) {
    let text: String
    do throws(FlotillaError) {
      text = String(decoding: try ShortFile.read(file), as: UTF8.self)
    } catch {
      throw FlotillaError(
        .refused, error.message,
        remedy: "Give the file that flotilla export-site-key has written.")
    }
    let seed = try SiteKeyText(text).key.seed
    _ = try await perform(.importSiteKey(seed: seed), mode: .brief) {
      node async throws(FlotillaError) in
      let done = try await node.importSiteKey(seed: seed)
      await node.untilConnected(within: .seconds(2))
      return done
    }
  }
}

extension Node {
  func importSiteKey(seed: [UInt8]) async throws(FlotillaError) -> Done {
    guard let site = SigningKey(seed: seed),
      Notary.openSSL.digest(site.publicKey) == identity.site
    else {
      throw FlotillaError(
        .refused, "this is the key of another site, not of \"\(identity.siteName)\"",
        remedy: "Give the file that export-site-key wrote on the machine where this site was made; "
          + "its first line names the site.")
    }
    try KeyFolder(sidecar).save(site: site)
    keys.site = site
    var record = try sidecar.record()
    // It came from somewhere.
    record.isSiteKeyExported = true
    try sidecar.save(record)
    let isAdmin = ownEntry?.role == .admin
    if !isAdmin || ownEntry?.name.isEmpty == true {
      let admission = SiteStatement.Kind.admit(key: keys.node.publicKey, role: .admin)
      try await say(
        (isAdmin ? [] : [admission])
          + [.introduce(node: identity.node, name: identity.name, words: "")])
    }
    return Done()
  }
}
