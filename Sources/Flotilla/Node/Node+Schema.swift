import Replication
import Store

extension Node {
  /// Shows the columns of the replicated tables; before that says that tables or columns were
  /// renamed, or lets go of what is kept for columns that are not here.
  func schema(_ request: SchemaRequest) async throws(FlotillaError) -> SchemaReport {
    if request.isName { try requireWhole("say what a table or a column is called") }
    let report = try await reporting(path) { () async throws(StoreError) in
      try await store.run { (store) throws(StoreError) in
        let remark = try SchemaWork(store: store, clock: self.clock).perform(request)
        return SchemaReport(try store.columns.all(), remark: remark)
      }
    }
    if request.isName {
      // Rows that were counted under another name are looked at again.
      try await foldNow()
      await announce()
    }
    return report
  }
}
