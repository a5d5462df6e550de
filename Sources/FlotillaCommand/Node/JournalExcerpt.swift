import Flotilla
import FoundationEssentials
import Glibc

/// The end of a log that is in the journal of systemd, and in no file.
struct JournalExcerpt {
  /// Runs a program and gives what it said and its exit status.
  typealias Read = ([String]) throws(FlotillaError) -> (text: String, status: Int32)

  private let unit: ServiceUnit
  private let read: Read

  /// Nil if systemd does not run the node of the database.
  init?(of path: String, manager: Systemd = Systemd(), read: @escaping Read = Self.run) {
    guard let unit = try? ServiceUnit(of: path, within: manager.root),
      access(manager.settingsFile(of: unit), F_OK) == 0
    else { return nil }
    (self.unit, self.read) = (unit, read)
  }

  private static let words = [
    "journalctl", "--quiet", "--no-pager", "--output=short-iso", "--lines=2000",
  ]

  /// What commands of the operator write goes to the journal, too, and may be rows: that has no
  /// such field, for it comes as mere text.
  private var matches: [(name: String, value: String)] {
    [("--unit", unit.name), ("FLOTILLA_DATABASE", unit.database)]
  }

  /// The last lines; where this user may not read them, what to type instead.
  func content(most: Int) -> JSON {
    let reason: String
    do throws(FlotillaError) {
      let (text, status) = try read(Self.words + matches.map { "\($0.name)=\($0.value)" })
      let lines = String(decoding: text.utf8.suffix(most), as: UTF8.self).split(separator: "\n")
      let whole = text.utf8.count > most ? lines.dropFirst() : lines[...]
      if status == 0, !whole.isEmpty { return .array(whole.map { .text(String($0)) }) }
      reason = status == 0 ? "this user is shown no line of \(unit.name)" : text
    } catch {
      reason = error.message
    }
    let typed = ["sudo"] + Self.words + matches.map { "\($0.name)=\(shellWord($0.value))" }
    return .object(["error": .text(reason), "remedy": .text(typed.joined(separator: " "))])
  }

  static func run(_ words: [String]) throws(FlotillaError) -> (text: String, status: Int32) {
    try ChildProcess.said(by: words)
  }
}
