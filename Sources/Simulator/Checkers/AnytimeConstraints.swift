/// Whatever is committed, the file is sound and every constraint of the schema holds.
enum AnytimeConstraints {
  static func check(
    _ application: Application, _ history: inout History, at node: String
  ) throws {
    // "PRAGMA integrity_check" also looks for breaches of UNIQUE, CHECK and NOT NULL.
    for line in try application.texts("PRAGMA integrity_check") where !line.contains("ok") {
      history.blame("\(node): \(line)")
    }
    for line in try application.texts("PRAGMA foreign_key_check") {
      history.blame("\(node): a reference of \(line) leads nowhere")
    }
  }
}
