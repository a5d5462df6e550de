import Foundation

extension Replica {
  /// Whether the running node of this file answers, if only with an error; true where none runs.
  ///
  /// It asks what is known without work. A node that is busy answers late, one that hangs never.
  public func answers() async -> Bool {
    do {
      _ = try await ControlClient(database: sidecar.database).ask(.office, as: AnchorReport.self)
      return true
    } catch {
      return error.code != .node
    }
  }

  /// What the running node says of its state; nil where none runs. Nothing is opened for it.
  public func statusOfNode() async throws(FlotillaError) -> StatusReport? {
    try await ControlClient(database: sidecar.database)
      .ask(.status(all: false), as: StatusReport.self)
  }
}

/// The replicas of this machine, as far as this user may look.
public enum LocalReplicas {
  /// What is looked through at most, so that a network drive or a huge tree ends at some time.
  private static let mostEntries = 200_000

  /// The databases on which processes of Flotilla work at present.
  ///
  /// Such a process keeps the file `lock` of the folder beside the database open; of the processes
  /// of other users only root sees that.
  public static func held() -> [String] {
    let files = FileManager.default
    let processes = (try? files.contentsOfDirectory(atPath: "/proc")) ?? []
    let opened = processes.filter { pid_t($0) != nil }.flatMap { process -> [String] in
      let folder = "/proc/\(process)/fd"
      let numbers = (try? files.contentsOfDirectory(atPath: folder)) ?? []
      return numbers.compactMap { try? files.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") }
    }
    let ending = "-flotilla/lock"
    let databases = opened.filter { $0.hasSuffix(ending) }.map { String($0.dropLast(ending.count)) }
    return Set(databases).filter { Replica(path: $0).sidecar.exists }.sorted()
  }

  /// The databases below a folder that have a folder of Flotilla's beside them.
  public static func below(_ folder: String) throws(FlotillaError) -> [String] {
    guard let real = realpath(folder, nil) else {
      throw FlotillaError.file("cannot open \(folder)")
    }
    defer { free(real) }
    let top = String(cString: real)
    guard let entries = FileManager.default.enumerator(atPath: top) else {
      throw FlotillaError(.system, "cannot look into \(folder)")
    }
    let ending = "-flotilla"
    var found: [String] = []
    for case let name as String in entries.lazy.prefix(mostEntries) where name.hasSuffix(ending) {
      let database = (top == "/" ? "/" : top + "/") + name.dropLast(ending.count)
      guard Replica(path: database).sidecar.exists else { continue }
      entries.skipDescendants()
      found.append(database)
    }
    return found.sorted()
  }
}
