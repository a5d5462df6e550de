import Replication

extension PeerRecord {
  /// Why exchanges with it fail, in words, and what helps; `path` is the database.
  func failure(_ path: String) -> (error: String, remedy: String)? {
    guard let failure = failures.current else { return nil }
    let times = failure.count == 1 ? "" : " (\(failure.count) times by now)"
    let error =
      failure.isOurs
      ? "what \(name) sends cannot be taken in: \(failure.bye.reason)"
      : "\(name) refuses the exchange: \(failure.bye.reason)"
    return (error + times, Self.remedy(failure, name, path))
  }

  private static func remedy(
    _ failure: Failures.Failure, _ name: String, _ path: String
  ) -> String {
    switch failure.bye.code {
    case .version: "Update Flotilla on the machine with the older one."
    case .anotherSite: "Look at both with flotilla status: one of them has joined another site."
    case .notAllowed:
      "Compare the rights of both (flotilla members), and change them with flotilla grant."
    case .storage where failure.isOurs:
      "See what is wrong with this file: flotilla doctor \(shellWord(path))"
    case .storage: "See what is wrong with the file there: flotilla doctor DB on \(name)."
    default:
      "Update Flotilla on both machines to the same version; if it goes on, flotilla verify "
        + "\(shellWord(path)) and the logs of both tell more. All else that is here stays as it is."
    }
  }
}
