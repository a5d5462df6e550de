/// On what and with what figures were taken.
struct MachineFacts: Sendable, Codable, Equatable {
  var date: String
  /// Of the program; with a `+` if files were changed after it.
  var commit: String
  var cores: Int
  var processor: String
  var kernel: String
  /// Versions of what takes part; PostgreSQL and sqlite3_rsync are nil where there are none.
  var sqlite: String
  var openssl: String
  var postgresql: String?
  var rsync: String?

  /// For people, one fact a line.
  var text: String {
    let versions = [
      "SQLite \(sqlite)", openssl, postgresql ?? "no PostgreSQL", rsync ?? "no sqlite3_rsync",
    ]
    return """
      \(date), commit \(commit)
      \(cores) cores, \(processor), Linux \(kernel)
      \(versions.joined(separator: ", "))
      """
  }

  /// The same for a page.
  var sentences: String {
    """
    Taken on \(date) of commit \(commit), on \(cores) cores (\(processor)) with Linux \(kernel).
    Beside it: SQLite \(sqlite), \(openssl), \(postgresql ?? "no PostgreSQL") and \
    \(rsync ?? "no sqlite3_rsync").
    """
  }

  /// The model in what /proc/cpuinfo says.
  static func processor(in text: String) -> String {
    let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
    let model = line?.split(separator: ":", maxSplits: 1).last?.split(separator: " ")
    return model?.joined(separator: " ") ?? "a processor that does not say what it is"
  }

  /// `PostgreSQL 15.18` of `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
  static func postgresql(in text: String) -> String? {
    let words = text.split { $0 == " " || $0 == "\n" }
    guard let place = words.firstIndex(of: "(PostgreSQL)"), place + 1 < words.count else {
      return nil
    }
    return "PostgreSQL \(words[place + 1])"
  }
}
