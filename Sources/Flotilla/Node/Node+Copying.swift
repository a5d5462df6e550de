import Network
import Replication

/// First copies by pages, for joiners.
extension Node {
  /// Serves a member that has come for pages. It holds its place among those who have dialled, so
  /// that a node which stops closes it.
  func serveCopy(_ link: TLSChannel, _ id: Mesh.ConnectionID) async {
    strangers.free(id)
    defer {
      link.close()
      strangers.leave(id)
    }
    guard case .member(let key) = link.peer, mode == .lasting, !isStopping else { return }
    let (node, roster) = (Notary.openSSL.digest(key), roster)
    let hasAll = await pages.serve(CopyLink(link, limit: Limits.greetingFrame), of: node) {
      roster.roll.member(node)?.rights.readsAll ?? false
    }
    if hasAll { peers[node]?.hasPages = true }
  }

  func makePageServer() -> PageServer {
    PageServer(store, sidecar, log: { [log] in log($0) }) { [weak self] fold, position in
      await self?.folded(fold, position)
    }
  }
}
