import Replication
import SQLite

/// The rows of one commit of a merge. The settings are one, and so is the rest of a small exchange.
/// What has gathered of a long one is cut into several, in the order of tables and keys.
///
/// 300,000 rows that were edited in any order come in that order. A commit of 500 of them would
/// change a thousand pages; sorted among 30,000, they are neighbours.
package struct MergeSlice: Sendable {
  /// Where a row is: in which batch, and there.
  struct Place {
    var batch: UInt32
    var row: UInt32
    /// As how many rows it counts: with it, what it names of others is looked up, or noted.
    var weight: UInt8
  }

  /// What this commit claims: nothing, but for the last slice.
  var merge: Merge
  let batches: [PackedBatch]
  let places: ArraySlice<Place>
  /// The last row of the whole step, as the sender has them: up to there all has been worked
  /// through when the last slice is.
  let last: Dot?
  package let isLast: Bool
  /// Whether it is of an exchange that is merged in several.
  package let isLong: Bool
  /// Whether it holds as many rows as a commit may.
  package let isFull: Bool
}

extension MergeSlice {
  /// Leaves out of what it claims what slices before have left out rows of.
  package mutating func follow(_ before: MergeResult) { merge.leaveOut(before.leftOut) }

  /// Reads the rows.
  @_optimize(speed)
  func rows() throws(StoreError) -> [ShapedRow] {
    var rows: [ShapedRow] = []
    rows.reserveCapacity(places.count)
    // Batches name the same tables. To look whether two shapes are the same one is short for copies
    // of one of them.
    var shapes: [TableShape: TableShape] = [:]
    var last: (batch: UInt32, table: Int, shape: TableShape)?
    do {
      for place in places {
        let batch = batches[Int(place.batch)]
        let row = try batch.row(Int(place.row))
        if last?.batch != place.batch || last?.table != row.table {
          let shape = batch.tables[row.table]
          let known = shapes[shape] ?? shape
          shapes[shape] = known
          last = (place.batch, row.table, known)
        }
        let shape = last?.shape ?? batch.tables[row.table]
        rows.append(ShapedRow(shape: shape, row: row))
      }
    } catch {
      throw StoreError(.wire, error.description)
    }
    return rows
  }
}

extension Store {
  /// Cuts what came into commits; everything is checked before anything is changed.
  package func slices(of merge: Merge) throws(StoreError) -> [MergeSlice] {
    var order = MergeOrder()
    let batches: [PackedBatch]
    do {
      batches = try merge.packed { batch, shape, row in
        order.add(row, of: batch) { place(of: shape) }
      }
    } catch {
      throw StoreError(.wire, error.description)
    }
    let bytes = merge.batches.reduce(0) { $0 + $1.count }
    let isLong =
      merge.end == nil || merge.rowsBefore > 0 || order.count > Limits.wholeRows
      || bytes > Limits.wholeBytes || order.former > Limits.wholeFormer
    let rows = isLong ? order.sorted() : order.asSent
    // What a table holds that the settings bring in is looked at before rows come for it.
    let isCut = order.settings > 0 && order.settings < rows.count
    let start = isCut ? order.settings : 0
    let later = isLong ? cuts(of: rows, from: start, batches) : []
    let ends = (isCut ? [start] : []) + later + [rows.count]
    var (claim, share) = (merge, merge)
    claim.batches = []
    (share.batches, share.end, share.movesFrontier) = ([], nil, false)
    return zip([0] + ends, ends).map { start, end in
      let isLast = end == rows.count
      return MergeSlice(
        merge: isLast ? claim : share, batches: batches, places: rows[start..<end],
        last: isLast ? order.last : nil, isLast: isLast, isLong: isLong || isCut,
        isFull: isFull(rows, start, end))
    }
  }

  /// Whether one row more would have been too many for a slice.
  private func isFull(_ rows: [MergeSlice.Place], _ start: Int, _ end: Int) -> Bool {
    let weight = rows[start..<end].reduce(0) { $0 + Int($1.weight) }
    return weight + (end < rows.count ? Int(rows[end].weight) : 1) > pace.mergedRows
  }

  /// Where one slice ends and the next one begins.
  private func cuts(
    of rows: [MergeSlice.Place], from first: Int, _ batches: [PackedBatch]
  ) -> [Int] {
    var (cuts, start, bytes, weight): ([Int], Int, Int, Int) = ([], first, 0, 0)
    for (index, place) in rows.enumerated().dropFirst(first) {
      let size = batches[Int(place.batch)].size(of: Int(place.row))
      let isOver =
        weight + Int(place.weight) > pace.mergedRows || bytes + size > pace.mergedBytes
      if index > start, isOver {
        cuts.append(index)
        (start, bytes, weight) = (index, 0, 0)
      }
      bytes += size
      weight += Int(place.weight)
    }
    return cuts
  }

  /// Where the rows of a table stand in the order of a merge. That is a wish: the schema may change
  /// while slices are merged, and nothing but their cost depends on it.
  private func place(of shape: TableShape) -> MergeOrder.Table {
    // The settings first: they tell which tables there are.
    let isSettings = Tables.isSettings(shape.name)
    let table = tables.table(shape.name)
    let depth = table.flatMap { try? kinship.parentage(tables).depth(of: $0.id) } ?? 0
    return MergeOrder.Table(
      depth: isSettings ? nil : depth, id: table?.id ?? -1,
      collations: table?.keyCollations ?? shape.collations)
  }
}
