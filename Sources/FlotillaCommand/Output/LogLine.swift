import Flotilla
import FoundationEssentials

/// How a node tells what happens.
enum LogForm: String, CaseIterable {
  case text
  /// `{"message":"first of \"a\" listens on port 7391","time":"2026-03-01T08:14:02.125Z"}`.
  case json
}

/// One line of the log.
struct LogLine {
  let text: String
  let moment: Moment

  init(_ text: String, at moment: Moment = .current) { (self.text, self.moment) = (text, moment) }

  /// `isDated` is for a reader who does not date lines himself, as systemd's journal does.
  func written(as form: LogForm, isDated: Bool) -> String {
    switch form {
    case .text: return isDated ? "\(moment.stamp) \(printable(text))" : printable(text)
    case .json:
      let time = moment.now.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
      return JSON.object(["time": .text(time), "message": .text(text)]).description
    }
  }
}
