import Foundation

/// What the kernel has counted of the connections of some ports (ss(8)).
enum SocketFacts {
  /// Bytes both ways over all connections that came to these addresses of this host.
  static func bytes(to addresses: [String], in place: Workplace) throws -> Int {
    let output = try Child([try program("ss"), "-tinH"], in: place.folder)
      .wait(within: .seconds(20)).output
    return bytes(to: Set(addresses), in: output)
  }

  /// Of a connection there is a line with both addresses, and one with what was counted:
  /// `bytes_acked` is what was sent and has come.
  static func bytes(to addresses: Set<String>, in text: String) -> Int {
    var (sum, isWanted) = (0, false)
    for line in text.split(separator: "\n") {
      let words = line.split { $0 == " " || $0 == "\t" }
      guard let first = line.first, first != " ", first != "\t" else {
        guard isWanted else { continue }
        for word in words {
          let parts = word.split(separator: ":")
          guard parts.count == 2, parts[0] == "bytes_acked" || parts[0] == "bytes_received" else {
            continue
          }
          sum += Int(parts[1]) ?? 0
        }
        continue
      }
      isWanted = words.count > 3 && addresses.contains(String(words[3]))
    }
    return sum
  }
}
