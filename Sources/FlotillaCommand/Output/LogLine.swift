import Flotilla
import FoundationEssentials

/// How a node tells what happens.
enum LogForm: String, CaseIterable {
  case text
  /// `{"database":"/srv/a.db","message":"first of \"a\" listens on port 7391",
  /// "time":"2026-03-01T08:14:02.125Z"}`, with the `peer` that it is about, if it is about one.
  case json
}

/// One line of the log.
struct LogLine {
  let entry: LogEntry
  let moment: Moment

  init(_ entry: LogEntry, at moment: Moment = .current) {
    (self.entry, self.moment) = (entry, moment)
  }

  private var text: String { entry.text }

  /// `isDated` is for a reader who does not date lines himself, as systemd's journal does.
  func written(as form: LogForm, isDated: Bool) -> String {
    switch form {
    case .text: return isDated ? "\(moment.stamp) \(printable(text))" : printable(text)
    case .json:
      let time = moment.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
      var object: [String: JSON] = ["time": .text(time), "message": .text(text)]
      object["database"] = entry.database.map(JSON.text)
      object["peer"] = entry.peer.map(JSON.text)
      return JSON.object(object).description
    }
  }

  /// The same for the journal of systemd, which dates it: `journalctl FLOTILLA_PEER=ward-2`.
  var fields: [(name: String, value: String)] {
    let of = [("FLOTILLA_DATABASE", entry.database), ("FLOTILLA_PEER", entry.peer)]
    return [
      ("MESSAGE", printable(text)), ("PRIORITY", "\(entry.level.rawValue)"),
      ("SYSLOG_IDENTIFIER", "flotilla"),
    ] + of.compactMap { name, value in value.map { (name, $0) } }
  }
}
