/// Waiting for something to become true of this node.
extension Node {
  /// Waits until a condition on this node holds, the time is over or the node stops; looks again
  /// whenever something has changed.
  ///
  /// The condition cannot wait itself, so nothing changes between a look and the wait.
  func until(_ deadline: Int64, _ condition: () -> Bool) async -> Bool {
    let alarm = Task {
      while Uptime.now < deadline {
        let rest = Duration.milliseconds(deadline - Uptime.now)
        guard (try? await Task.sleep(for: rest)) != nil else { return }
      }
      changed()
    }
    defer { alarm.cancel() }
    return await withTaskCancellationHandler {
      while !condition() {
        guard Uptime.now < deadline, !isStopping, !Task.isCancelled else { return false }
        await withCheckedContinuation { changeWaiters.append($0) }
      }
      return true
    } onCancel: {
      Task { await changed() }
    }
  }

  /// Lets everybody who waits for a condition look again.
  func changed() {
    for continuation in changeWaiters { continuation.resume() }
    changeWaiters = []
  }
}
