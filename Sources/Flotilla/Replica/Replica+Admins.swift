import Network
import Replication
import Store

/// Whether anybody is left who rules the site.
extension Replica {
  /// Adds what there is to say of the admins; `reached` are the ids of connected members.
  func checkAdmins(
    _ examination: inout Examination, reached: Set<String>
  ) async throws(FlotillaError) {
    let (path, sidecar) = (path, sidecar)
    let view = try await offPool { () throws(FlotillaError) -> AdminView? in
      guard let keys = try? KeyFolder(sidecar).keys() else { return nil }
      let (root, statements, known) = try reporting(path) { () throws(StoreError) in
        let store = try Store(path: sidecar.database, inspects: false)
        return (
          try store.members.rootKey(), try store.members.statements(), try store.members.peers()
        )
      }
      var membership = Membership(rootKey: root, notary: .openSSL)
      _ = membership.unite(statements)
      return AdminView(
        membership.roll, own: keys.identity, path, hasKey: keys.site != nil,
        seen: Dictionary(known.map { ($0.node, $0.seen) }, uniquingKeysWith: { $1 }))
    }
    guard let view else { return }
    examination.judge(view, reached: reached, at: Uptime.wall)
    examination.judge(standing: view.standing)
  }
}

/// Who can invite, shut out and appoint, as a member knows it.
struct AdminView {
  struct Admin {
    var id: String
    var name: String
    /// When it was last connected, in ms since 1970.
    var seen: Int64?
  }

  var isAdmin: Bool
  var hasOthers: Bool
  /// The other admins.
  var admins: [Admin]
  /// Set if this node is no member any more.
  var standing: StandingReport?

  init(_ roll: Roll, own: Identity, _ path: String, hasKey: Bool, seen: [Identity: Int64?]) {
    standing = StandingReport(of: own, in: roll, isRefused: false, path)
    let others = roll.members.filter { $0.node != own }
    isAdmin = hasKey || roll.member(own)?.role == .admin
    hasOthers = roll.member(own) != nil && !others.isEmpty
    admins = others.filter { $0.role == .admin }.map {
      Admin(id: $0.node.description, name: $0.name, seen: seen[$0.node] ?? nil)
    }
  }
}

extension Examination {
  /// An admin that was seen within this time, in ms, is thought to be alive.
  static let alive: Int64 = 86_400_000

  /// That this node is no member any more; said once, whoever knows it.
  mutating func judge(standing: StandingReport?) {
    guard let standing, !hasFinding("member") else { return }
    add("member", .error, standing.text, standing.remedy)
  }

  mutating func judge(_ view: AdminView, reached: Set<String>, at now: Int64) {
    guard view.hasOthers, !view.isAdmin else { return }
    let file = shellWord(path)
    let bring =
      "If the site key was exported: flotilla import-site-key \(file) FILE. If it is lost: found "
      + "the site anew (\(Documentation.page("operations.md")), Lose the site key)."
    guard !view.admins.isEmpty else {
      return add(
        "admin", .warning,
        "the site has no admin any more: nobody can be invited, shut out or made the anchor", bring)
    }
    if let admin = view.admins.first(where: { reached.contains($0.id) }) {
      return add("admin", .ok, "\(admin.name), an admin of the site, is in reach")
    }
    let last = view.admins.max { ($0.seen ?? 0) < ($1.seen ?? 0) }
    if let last, let seen = last.seen, now - seen < Self.alive {
      return add("admin", .ok, "\(last.name), an admin of the site, was there within a day")
    }
    let names = view.admins.map(\.name).sorted().joined(separator: ", ")
    let since = last?.seen.map { " since \(Node.text($0))" } ?? ""
    add(
      "admin", .warning,
      "no admin of the site is in reach\(since) (\(names)): nobody can be invited, shut out or "
        + "made the anchor meanwhile",
      "Wait for it, if it comes back. " + bring)
  }
}
