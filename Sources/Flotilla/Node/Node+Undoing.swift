import Replication
import Store

/// What a node keeps so that the edits of a member can be undone once it is shut out.
extension Node {
  /// From the first row on that comes: others may write over what stands here.
  func beginUndoBook() async {
    do {
      try await store.patiently { (store) throws(StoreError) in try store.undo.begin() }
    } catch {
      // The next patrol tries again.
      if !note(error) { warn("could not begin to keep replaced rows: \(error.message)") }
    }
  }

  /// Every ten minutes it is written down how far each author has come.
  func tendUndoBook() async {
    guard clock.now.site != nil, times.takeUndoLook(at: Uptime.now) else { return }
    do {
      try await store.patiently { (store) throws(StoreError) in
        try store.tendUndo(at: self.clock.now)
      }
    } catch {
      if !note(error) { warn("could not tend the kept rows: \(error.message)") }
    }
  }
}
