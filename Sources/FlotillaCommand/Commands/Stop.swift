import Flotilla

/// `flotilla stop`: stops the running node.
enum Stop {
  static let command = Command(
    name: "stop",
    summary: "stops the running node",
    discussion: """
      Returns when the node has stopped. A process that serves several databases goes
      on with the others and ends with the last one. Programs that have the file open
      with the library do not start the node again, but for one that asks for it.
      """,
    parameters: [.database],
    statuses: [.notInSync: "the node did not end within 30 s"],
    body: run)

  private static func run(_ call: Call) async throws(FlotillaError) -> ExitStatus {
    try await call.replica.stop()
    call.output.remark("the node of \(printable(call.path)) has stopped")
    return .done
  }
}
