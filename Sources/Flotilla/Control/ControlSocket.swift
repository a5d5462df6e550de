import CLinux
import FoundationEssentials
import Glibc
import Replication

/// Where the control socket of a database is: in the user's runtime folder, for socket paths are
/// limited to 107 bytes.
enum ControlSocket {
  static func path(database: String) throws(FlotillaError) -> String {
    let hash = hash64(Array(database.utf8), seed: 0xC0)
    let own = Sidecar(database: database).folder + "/control.sock"
    do {
      let path = try folder() + "/" + String(hash, radix: 36) + ".sock"
      // A runtime folder that a service manager has named can have a long path.
      return path.utf8.count > longest && own.utf8.count <= longest ? own : path
    } catch {
      // Somebody else has made it first; nobody else has made the folder beside the database.
      guard own.utf8.count <= longest else { throw error }
      return own
    }
  }

  /// The same for the gateway's socket; nil where its path would be too long.
  static func httpPath(database: String) -> String? {
    let hash = hash64(Array(database.utf8), seed: 0xC0)
    let own = Sidecar(database: database).folder + "/http.sock"
    let place = (try? folder()).map { $0 + "/" + String(hash, radix: 36) + ".http.sock" } ?? own
    return [place, own].first { $0.utf8.count <= longest }
  }

  /// "sun_path […] 108" bytes with the NUL (unix(7)).
  private static let longest = 107

  /// The folder, made for its owner alone.
  private static func folder() throws(FlotillaError) -> String {
    let user = getuid()
    var base = "/run/user/\(user)"
    if let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"], !runtime.isEmpty {
      base = runtime
    }
    let folder =
      access(base, W_OK | X_OK) == 0 ? base + "/flotilla" : "/tmp/flotilla-\(user)"
    if mkdir(folder, 0o700) != 0, errno != EEXIST {
      throw FlotillaError(
        .system, "cannot make the folder \(folder): \(String(cString: strerror(errno)))")
    }
    var status = stat()
    guard lstat(folder, &status) == 0, status.st_uid == user,
      status.st_mode & 0o077 == 0, status.st_mode & S_IFMT == S_IFDIR
    else {
      throw FlotillaError(
        .system, "\(folder) must be a folder that belongs to you alone",
        remedy: "Remove it, or: chmod 700 \(folder)")
    }
    return folder
  }
}
