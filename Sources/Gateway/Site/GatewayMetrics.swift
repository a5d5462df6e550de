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

  /// The lines of what else works on databases, each metric once with all of its samples.
  static func lines(_ figures: [(name: String, figures: [GatewayFigure])]) -> [String] {
    var order: [String] = []
    var samples: [String: (type: String, lines: [String])] = [:]
    for (database, all) in figures {
      for figure in all {
        if samples[figure.name] == nil {
          order.append(figure.name)
          samples[figure.name] = (figure.isCounter ? "counter" : "gauge", [])
        }
        // "The MetricPoint's Total Value Sample MetricName MUST have the suffix _total".
        let name = figure.isCounter ? figure.name + "_total" : figure.name
        samples[figure.name]?.lines.append(
          "\(name){database=\(label(database))} \(figure.value)")
      }
    }
    return order.flatMap { name in
      samples[name].map { ["# TYPE \(name) \($0.type)"] + $0.lines } ?? []
    }
  }

  /// "label values … MUST escape backslash, double-quote and line feed" (OpenMetrics 1.0).
  static func label(_ text: String) -> String {
    quoted(text, by: "\"", escapes: ["\\": "\\\\", "\"": "\\\"", "\n": "\\n"])
  }
}

/// One number that something beside the node tells of a database, for `/metrics`.
public struct GatewayFigure: Sendable, Equatable {
  public let name: String
  public let value: Double
  /// Whether it counts since the process was started.
  public let isCounter: Bool

  public init(_ name: String, _ value: Double, isCounter: Bool = false) {
    (self.name, self.value, self.isCounter) = (name, value, isCounter)
  }
}
