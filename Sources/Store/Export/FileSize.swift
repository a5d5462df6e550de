import Glibc

package enum FileSize {
  /// The length of a file in bytes; 0 if there is none.
  package static func of(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }
}
