import Flotilla
import FoundationEssentials

/// A point in time and the zone of the reader, from which other times are told.
struct Moment: Sendable {
  let now: Date
  let zone: Zone

  static var current: Moment { Moment(now: Date(), zone: .local) }

  /// Reads ISO 8601 with or without fractions of a second.
  static func date(from text: String) -> Date? {
    let whole = Date.ISO8601FormatStyle()
    return (try? whole.parse(text))
      ?? (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
  }

  /// The time of day in the reader's zone, with the date if it is not today: `3 Mar 08:14`.
  func clock(_ date: Date) -> String {
    let (then, today) = (zone.parts(of: date), zone.parts(of: now))
    let time = twoDigits(then.hour) + ":" + twoDigits(then.minute)
    if (then.year, then.month, then.day) == (today.year, today.month, today.day) { return time }
    let day = "\(then.day) \(Self.months[(then.month - 1) % 12])"
    return then.year == today.year ? "\(day) \(time)" : "\(day) \(then.year)"
  }

  /// How long ago it was, in one unit: `now`, `12 s ago`, `2 h ago`, `3 d ago`.
  func ago(_ date: Date) -> String {
    let seconds = now.timeIntervalSince(date)
    return switch seconds {
    case ..<5: "now"
    case ..<60: "\(Int(seconds)) s ago"
    case ..<3600: "\(Int(seconds / 60)) m ago"
    case ..<172_800: "\(Int(seconds / 3600)) h ago"
    default: "\(thousands(Int(min(seconds, 1e12) / 86_400))) d ago"
    }
  }

  /// The time for a line of a log: `2026-03-01 08:14:02.125`.
  var stamp: String {
    let milliseconds = Int((now.timeIntervalSince1970 * 1_000).rounded())
    let then = zone.parts(of: Date(timeIntervalSince1970: Double(milliseconds) / 1_000))
    let day = "\(then.year)-\(twoDigits(then.month))-\(twoDigits(then.day))"
    let time = "\(twoDigits(then.hour)):\(twoDigits(then.minute)):\(twoDigits(then.second))"
    let fraction = String((milliseconds % 1_000 + 1_000) % 1_000 + 1_000).dropFirst()
    return "\(day) \(time).\(fraction)"
  }

  private func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}
