import FoundationEssentials

/// A point in time as a column holds it: `2026-11-26 17:03:10.500`, in UTC, as SQLite's own
/// functions take and give it.
enum RowDate {
  /// The years 1 to 9999, in seconds since 1970.
  private static let years = -62_135_596_800.0..<253_402_300_799.999

  static func text(of date: Date) throws -> String {
    guard years.contains(date.timeIntervalSince1970) else {
      throw Unfit("the date is not in the years 1 to 9999")
    }
    return written(date)
  }

  private static func written(_ date: Date) -> String {
    // The style cuts; this rounds to the millisecond.
    let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
    return Date(timeIntervalSince1970: (milliseconds + 0.5) / 1_000).formatted(
      Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day()
        .dateTimeSeparator(.space).time(includingFractionalSeconds: true))
  }

  /// Reads a date, with a time after it or not: seconds, their fraction and a zone may be left out,
  /// and without a zone it is UTC. Nil for anything else.
  static func date(of text: String) -> Date? {
    let pattern = /(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(?:(:\d\d)(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?/
    guard let (_, day, time, seconds, fraction, zone) = text.wholeMatch(of: pattern)?.output
    else { return nil }
    let whole = "\(day)T\(time ?? "00:00")\(seconds ?? ":00")"
    // The 30th of February would be a day in March.
    guard let utc = try? Date(whole + "Z", strategy: .iso8601),
      written(utc).hasPrefix("\(day) \(time ?? "00:00")"),
      let date = try? Date(whole + (zone ?? "Z"), strategy: .iso8601)
    else { return nil }
    return date.addingTimeInterval(fraction.flatMap { Double("0\($0)") } ?? 0)
  }
}
