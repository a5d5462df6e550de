import Foundation
import Testing

extension BadInputTests {
  /// What a node keeps of the machine.
  @Suite struct MemoryTests {
    @Test func `the threads of a node share few heaps`() async throws {
      try await Desk.with { desk in
        let node = try await desk.pair("a.db", "b.db")
        for round in 0..<8 {
          try await desk.sql(
            "a.db",
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000)
            INSERT INTO t SELECT 'r\(round)-' || i, hex(randomblob(50)) FROM n
            """)
          #expect(try await desk.flotilla("sync", "b.db", node.address).status == 0)
        }
        // One for the first thread, which is the program's break, and one for all others.
        #expect(node.heaps <= 1, "\(node.heaps) heaps beside the first")
      }
    }
  }
}

extension RunningNode {
  /// How many heaps glibc has made beside the first: each reserves 64 MiB at a multiple of that,
  /// and what is not in use yet may not be touched.
  fileprivate var heaps: Int {
    let size: UInt64 = 64 << 20
    let text = (try? String(contentsOfFile: "/proc/\(process)/maps", encoding: .utf8)) ?? ""
    let areas = text.split(separator: "\n").compactMap { line -> (UInt64, UInt64, Substring)? in
      let words = line.split(separator: " ")
      let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
      return ends.count == 2 ? (ends[0], ends[1], words[1]) : nil
    }
    return zip(areas, areas.dropFirst()).count { used, rest in
      used.0 % size == 0 && used.2 == "rw-p" && rest.0 == used.1 && rest.2 == "---p"
        && rest.1 >= used.0 + size
    }
  }
}
