import Flotilla
import Gateway
import Mirror

/// What `/metrics` tells of a mirror; nothing where there is none.
enum MirrorFigures {
  static func of(_ replica: Replica) async -> [GatewayFigure] {
    guard let report = try? await ServerMirror(replica).briefReport() else { return [] }
    let gauges: [(String, Double)] = [
      ("in_sync", report.in_sync ? 1 : 0),
      ("trouble", report.trouble == nil ? 0 : 1),
      ("behind_seconds", Double(report.behind_seconds)),
      ("held_rows", Double(report.held_count)),
      ("stopped_tables", Double(report.stopped.count)),
    ]
    let counters: [(String, Int)] = [
      ("sent_rows", report.sent), ("taken_rows", report.taken), ("retries", report.retries),
    ]
    return gauges.map { GatewayFigure("flotilla_mirror_\($0)", $1) }
      + (report.behind_rows.map {
        [GatewayFigure("flotilla_mirror_behind_rows", Double($0))]
      } ?? [])
      + counters.map {
        GatewayFigure("flotilla_mirror_\($0)", Double($1), isCounter: true)
      }
  }
}
