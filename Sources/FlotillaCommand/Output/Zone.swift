import FoundationEssentials
import Glibc

/// A zone of time, by the C library: Foundation's own come with 30 MB of data about languages.
enum Zone: Sendable {
  /// Of this machine, or as TZ says.
  case local
  case utc

  /// The year, month, day, hour, minute and second of a moment.
  func parts(of date: Date) -> Parts {
    var (seconds, found) = (time_t(clamping: date.timeIntervalSince1970.rounded(.down)), tm())
    switch self {
    case .local: localtime_r(&seconds, &found)
    case .utc: gmtime_r(&seconds, &found)
    }
    return Parts(
      year: Int(found.tm_year) + 1900, month: Int(found.tm_mon) + 1, day: Int(found.tm_mday),
      hour: Int(found.tm_hour), minute: Int(found.tm_min), second: Int(found.tm_sec))
  }

  /// The moment of these parts; nil if there is none, as on the 30th of February.
  func date(of parts: Parts) -> Date? {
    var wanted = tm()
    wanted.tm_year = Int32(clamping: parts.year - 1900)
    (wanted.tm_mon, wanted.tm_mday) = (Int32(clamping: parts.month - 1), Int32(clamping: parts.day))
    (wanted.tm_hour, wanted.tm_min) = (Int32(clamping: parts.hour), Int32(clamping: parts.minute))
    wanted.tm_sec = Int32(clamping: parts.second)
    // Whether summer time applies the zone knows.
    wanted.tm_isdst = -1
    let seconds = self == .local ? mktime(&wanted) : timegm(&wanted)
    let date = Date(timeIntervalSince1970: Double(seconds))
    return self.parts(of: date) == parts ? date : nil
  }

  struct Parts: Equatable {
    var year: Int
    var month: Int
    var day: Int
    var hour: Int
    var minute: Int
    var second: Int
  }
}

extension time_t {
  fileprivate init(clamping number: Double) {
    self = number.isNaN ? 0 : time_t(Swift.min(Swift.max(number, -1e15), 1e15))
  }
}
