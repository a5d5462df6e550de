import Replication
import Store

/// Who a node is, as it says Hello.
struct NodeIdentity: Sendable {
  let site: Identity
  let siteName: String
  let node: Identity
  let name: String

  init(_ store: Store) {
    self.site = store.site
    self.siteName = store.siteName
    self.node = store.node
    self.name = store.nodeName
  }
}
