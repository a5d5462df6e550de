import Replication
import Store

extension OpenReplica.Changes {
  /// A page of the feed, as programs get it.
  init(_ page: ChangePage) {
    self.init(
      changes: page.changes.map { change in
        OpenReplica.Change(
          cursor: change.cursor.description, table: change.table, first: change.first,
          key: change.key.mapValues(SQLValue.init),
          deleted: change.row == nil && !change.isTooLarge,
          row: change.row.map { Replica.row($0) }, author: change.author,
          stamp: change.stamp.flatMap {
            $0 <= Stamp.beforeSite ? nil : Node.fineText($0.millisecondsSince1970)
          },
          certified: change.isCertified)
      },
      cursor: page.cursor.description, reset: page.isAnew, more: page.hasMore)
  }
}
