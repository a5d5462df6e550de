import FoundationEssentials
import Glibc

/// The names by which other machines of a LAN call this one.
enum MachineNames {
  /// Its own name, the one that Avahi gives it, and `localhost`; in small letters.
  static func all(of host: String = hostName) -> [String] {
    let first = host.split(separator: ".").first.map { $0.lowercased() } ?? ""
    let isPlain =
      !first.isEmpty && first.utf8.count < 58
      && first.utf8.allSatisfy {
        (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x2D
      }
    return isPlain && first != "localhost" ? [first, first + ".local", "localhost"] : ["localhost"]
  }

  private static var hostName: String { ProcessInfo.processInfo.hostName }
}
