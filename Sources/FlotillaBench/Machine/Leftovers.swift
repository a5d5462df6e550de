import Dispatch
import Foundation
import Glibc
import Network

/// Processes to end and folders to remove if this process is ended by a signal.
enum Leftovers {
  private static let folders = Locked<Set<String>>([])
  /// With the signal that ends each at once.
  private static let processes = Locked<[pid_t: Int32]>([:])

  static func add(_ process: pid_t, endedBy signal: Int32) {
    processes.withLock { $0[process] = signal }
  }

  static func remove(_ process: pid_t) { processes.withLock { $0[process] = nil } }

  static func add(_ folder: String) { folders.withLock { _ = $0.insert(folder) } }

  static func remove(_ folder: String) {
    _ = folders.withLock { $0.remove(folder) }
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// SIGINT and SIGTERM end this process without leaving anything.
  static func watch() -> [any DispatchSourceSignal] {
    [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        endProcesses()
        for folder in folders.withLock({ $0 }) {
          try? FileManager.default.removeItem(atPath: folder)
        }
        _exit(128 + number)
      }
      source.activate()
      return source
    }
  }

  /// Nobody writes to a folder any more once this is done.
  private static func endProcesses() {
    let all = processes.withLock { $0 }
    for (process, signal) in all { kill(process, signal) }
    let end = Clock.now + 5_000_000_000
    for process in all.keys {
      while waitpid(process, nil, WNOHANG) == 0, Clock.now < end {
        Clock.sleep(.milliseconds(10))
      }
    }
  }
}
