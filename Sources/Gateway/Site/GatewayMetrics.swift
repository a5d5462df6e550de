import Flotilla
import SQLite
import Synchronization

/// What `/metrics` tells, in the form of OpenMetrics. Labels are names of databases, tables and
/// members, never addresses.
final class GatewayMetrics: Sendable {
  private struct Request: Hashable, Sendable {
    var method: String
    var status: Int
  }

  private let requests = Mutex([Request: Int]())

  func count(_ method: String, _ status: Int) {
    requests.withLock { $0[Request(method: method, status: status), default: 0] += 1 }
  }

  /// The lines of the gateway itself.
  var lines: [String] {
    let counts = requests.withLock { $0 }
    return ["# TYPE flotilla_http_requests counter"]
      + counts.sorted { ($0.key.method, $0.key.status) < ($1.key.method, $1.key.status) }
      .map { request, count in
        "flotilla_http_requests_total{method=\"\(request.method)\",status=\"\(request.status)\"}"
          + " \(count)"
      }
  }

  /// The lines of databases, each metric once with all of its samples.
  static func lines(_ reports: [(name: String, report: StatusReport)]) -> [String] {
    let metrics: [(String, (StatusReport) -> [(labels: String, value: Double)])] = [
      ("flotilla_in_sync", { [("", $0.in_sync ? 1 : 0)] }),
      ("flotilla_conflicts", { [("", Double($0.conflicts))] }),
      ("flotilla_parked_rows", { [("", Double($0.parked))] }),
      ("flotilla_unjudged_edits", { [("", Double($0.unjudged))] }),
      ("flotilla_trouble", { [("", $0.trouble == nil ? 0 : 1)] }),
      (
        "flotilla_rows",
        { $0.tables.map { (",table=\(label($0.name))", Double($0.rows)) } }
      ),
      (
        "flotilla_peer_connected",
        { report in
          report.peers.map { peer in
            let isConnected = ["in-sync", "catching-up"].contains(peer.state.rawValue)
            return (",node=\(label(peer.node))", isConnected ? 1 : 0)
          }
        }
      ),
      (
        "flotilla_peer_behind_rows",
        { $0.peers.map { (",node=\(label($0.node))", Double($0.behind_rows)) } }
      ),
      (
        "flotilla_peer_behind_seconds",
        { $0.peers.map { (",node=\(label($0.node))", $0.behind_seconds) } }
      ),
    ]
    return metrics.flatMap { name, read in
      ["# TYPE \(name) gauge"]
        + reports.flatMap { report in
          read(report.report).map { sample in
            "\(name){database=\(label(report.name))\(sample.labels)} \(sample.value)"
          }
        }
    }
  }

  /// "label values … MUST escape backslash, double-quote and line feed" (OpenMetrics 1.0).
  static func label(_ text: String) -> String {
    quoted(text, by: "\"", escapes: ["\\": "\\\\", "\"": "\\\"", "\n": "\\n"])
  }
}
