import Glibc

/// Nanoseconds of CLOCK_MONOTONIC: the same for all processes of this machine.
enum Clock {
  static var now: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  static func sleep(_ duration: Duration) { sleep(until: now + duration.nanoseconds) }

  static func sleep(until moment: Int64) {
    while true {
      let pause = moment - now
      guard pause > 0 else { return }
      var time = timespec(
        tv_sec: Int(pause / 1_000_000_000), tv_nsec: Int(pause % 1_000_000_000))
      nanosleep(&time, nil)
    }
  }

  /// Asks again and again until the answer is yes; throws when the time is over.
  static func wait(
    _ what: String, within limit: Duration, every pause: Duration = .milliseconds(5),
    _ condition: () throws -> Bool
  ) throws {
    let end = now + limit.nanoseconds
    while try !condition() {
      guard now < end else { throw BenchError("waited \(limit) in vain: \(what)") }
      sleep(pause)
    }
  }
}

extension Duration {
  var nanoseconds: Int64 {
    components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
  }
}

extension Int64 {
  /// Nanoseconds as milliseconds.
  var milliseconds: Double { Double(self) / 1e6 }
  /// Nanoseconds as seconds.
  var seconds: Double { Double(self) / 1e9 }
}

/// Why a measurement could not be made.
struct BenchError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
