import CLinux
import FoundationEssentials
import Glibc

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

  /// Whether this user may not look into the folder beside a database.
  public static func isClosed(_ database: String) -> Bool {
    access(database + ending, X_OK) != 0 && errno == EACCES
  }

  private static let ending = "-flotilla"

  /// A folder that may not be looked into is taken for one if its database is there.
  private static func isReplica(_ database: String) -> Bool {
    guard isClosed(database) else { return Replica(path: database).sidecar.exists }
    var status = stat()
    return lstat(database, &status) == 0
  }

  /// The databases below a folder that have a folder of Flotilla's beside them.
  public static func below(_ folder: String) throws(FlotillaError) -> [String] {
    guard let real = realpath(folder, nil) else {
      throw FlotillaError.file("cannot open \(folder)")
    }
    defer { free(real) }
    let top = String(cString: real)
    let files = FileManager.default
    guard (try? files.contentsOfDirectory(atPath: top)) != nil else {
      var status = stat()
      let isFolder = stat(top, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
      throw FlotillaError(
        .system, isFolder ? "\(folder) may not be looked into" : "\(folder) is no folder",
        remedy: isFolder
          ? "Run as who may, or name other folders."
          : "list takes folders: flotilla list \(shellWord(Sidecar.folder(of: top)))")
    }
    var (found, folders, seen): ([String], [String], Int) = ([], [top == "/" ? "" : top], 0)
    // Links are not followed: they may lead round in a circle.
    while let folder = folders.popLast(), seen < mostEntries {
      for name in (try? files.contentsOfDirectory(atPath: folder + "/")) ?? [] {
        seen += 1
        let path = folder + "/" + name
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { continue }
        let database = String(path.dropLast(ending.count))
        if name.hasSuffix(ending), isReplica(database) {
          found.append(database)
        } else {
          folders.append(path)
        }
      }
    }
    return found.sorted()
  }
}
