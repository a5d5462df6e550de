import Flotilla

/// Where the lines of a node go: to standard error, or with their fields to the journal of systemd
/// if standard error leads there.
struct NodeLog: Sendable {
  private let form: LogForm
  private let output: Output
  private let isJournal: Bool
  private let journal: JournalSocket?

  /// Who asks for JSON has a program that reads lines, and gets them.
  init(
    _ form: LogForm, _ output: Output, isJournal: Bool = JournalStream.isStandardError,
    socket: String = JournalSocket.place
  ) {
    (self.form, self.output, self.isJournal) = (form, output, isJournal)
    journal = isJournal && form == .text ? JournalSocket(path: socket) : nil
  }

  func write(_ entry: LogEntry) {
    LogRotation.rotate()
    let line = LogLine(entry)
    if let journal, journal.send(line.fields) { return }
    output.remark(line.written(as: form, isDated: !isJournal))
  }
}
