import Flotilla
import Mirror
import Synchronization

/// Runs the mirrors of a process from the moment its nodes serve: before that, whoever asks for a
/// replica would be taken for its node.
final class MirrorWatch: Sendable {
  private let task = Mutex<Task<Void, Never>?>(nil)

  func begin(_ replicas: [Replica], log: @escaping @Sendable (String) -> Void) {
    task.withLock { $0 = Task { await ServerMirror.watch(replicas, log: log) } }
  }

  func end() async {
    let running = task.withLock { $0 }
    running?.cancel()
    await running?.value
  }
}
