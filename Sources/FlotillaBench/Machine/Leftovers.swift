import Dispatch
import Foundation
import Glibc
import Network

/// Folders to remove if this process is ended by a signal.
enum Leftovers {
  private static let folders = Locked<Set<String>>([])

  static func add(_ folder: String) { folders.withLock { _ = $0.insert(folder) } }

  static func remove(_ folder: String) {
    _ = folders.withLock { $0.remove(folder) }
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// SIGINT and SIGTERM end this process without leaving anything; children end with it.
  static func watch() -> [any DispatchSourceSignal] {
    [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        for folder in folders.withLock({ $0 }) {
          try? FileManager.default.removeItem(atPath: folder)
        }
        _exit(128 + number)
      }
      source.activate()
      return source
    }
  }
}
