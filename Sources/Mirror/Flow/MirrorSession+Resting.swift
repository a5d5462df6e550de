/// Tables of the server that take nothing for a while; all the others flow on.
extension MirrorSession {
  struct Rest {
    let error: ServerError
    let until: ContinuousClock.Instant
    let pause: Duration
  }

  private static let longestRest = Duration.seconds(10)

  func isResting(_ number: Int) -> Bool {
    resting[number].map { $0.until > .now } ?? false
  }

  /// Lets a table rest, twice as long as the last time.
  func rest(_ number: Int, _ error: ServerError) {
    let pause = min(Self.longestRest, (resting[number]?.pause ?? .milliseconds(500)) * 2)
    resting[number] = Rest(error: error, until: .now + pause, pause: pause)
    again += 1
  }

  /// Of a table that takes rows again, and of which nothing is owed, there is no more to be said.
  func endRests() {
    resting = resting.filter { number, rest in
      rest.until > .now || debts.contains { $0.link.number == number }
    }
  }
}
