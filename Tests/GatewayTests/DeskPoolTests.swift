import Flotilla
import Foundation
import SQLite
import Testing

@testable import Gateway

@Suite struct `Connections that do the same` {
  /// Held until it is let go; a test that fails lets go after a while.
  private final class Gate: @unchecked Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    func wait() { _ = semaphore.wait(timeout: .now() + 60) }
    func open() { semaphore.signal() }
  }

  private func pool(_ count: Int, _ body: (DeskPool) async throws -> Void) async throws {
    let path = NSTemporaryDirectory() + "flotilla-desk-\(UUID().uuidString).db"
    defer { for end in ["", "-wal", "-shm"] { unlink(path + end) } }
    try Connection(path: path, mode: .create).execute("CREATE TABLE t(id INTEGER PRIMARY KEY)")
    let replica = Replica(path: path)
    try await body(DeskPool(count) { RowDesk(replica, for: .reading) })
  }

  @Test func `leave the one out that is busy`() async throws {
    try await pool(2) { pool in
      let (gate, begun) = (Gate(), Gate())
      async let slow: Void = pool.run { _ throws(Problem) in
        begun.open()
        gate.wait()
      }
      begun.wait()
      // Each of these would wait behind the slow one if they took turns blindly.
      for number in 0..<4 {
        let found = try await pool.run { file throws(Problem) in
          try reporting { () throws(SQLiteError) in
            try file.connection.scalar("SELECT \(number)").integer
          }
        }
        #expect(found == Int64(number))
      }
      gate.open()
      try await slow
    }
  }

  @Test func `are kept for a request as long as one is free`() async throws {
    try await pool(2) { pool in
      let (one, two) = (try #require(pool.freeSeat()), try #require(pool.freeSeat()))
      #expect(one.desk !== two.desk && pool.freeSeat().map(\.desk) == nil)
      // Who has a seat reads there, and who has none waits for nobody that only sits.
      for seat in [one, nil] {
        let found = try await pool.run(at: seat) { file throws(Problem) in
          try reporting { () throws(SQLiteError) in
            try file.connection.scalar("SELECT 7").integer
          }
        }
        #expect(found == 7)
      }
      two.leave()
      #expect(pool.freeSeat()?.desk === two.desk)
    }
  }

  @Test func `are none of another database, whatever seat a request has`() async throws {
    try await pool(1) { one in
      try await pool(1) { other in
        let seat = try #require(one.freeSeat())
        let path = try await other.run(at: seat) { file throws(Problem) in file.connection.path }
        let own = try await other.run { file throws(Problem) in file.connection.path }
        #expect(path == own)
      }
    }
  }

  private func request(of asker: String) -> HTTPRequest {
    var request = HTTPRequest("GET", "/")
    request.asker = asker
    return request
  }

  @Test func `are left to others by who asks much`() async throws {
    try await pool(3) { pool in
      let (gates, begun) = ((0..<3).map { _ in Gate() }, (0..<3).map { _ in Gate() })
      let wild = request(of: "wild")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<2 {
          group.addTask {
            try await pool.run(for: wild) { _ throws(Problem) in
              begun[number].open()
              gates[number].wait()
            }
          }
        }
        for gate in begun.prefix(2) { gate.wait() }
        #expect(pool.freeSeat(for: "wild")?.desk == nil)
        let seat = try #require(pool.freeSeat(for: "calm"))
        seat.leave()
        group.addTask { try await pool.run(for: wild) { _ throws(Problem) in gates[2].open() } }
        // Others are not behind it.
        for _ in 0..<4 { try await pool.run(for: request(of: "calm")) { _ throws(Problem) in } }
        for gate in gates.prefix(2) { gate.open() }
        try await group.waitForAll()
      }
      #expect((0..<3).map { _ in pool.freeSeat(for: "wild") }.count { $0 != nil } == 2)
    }
  }

  @Test func `do nothing for a request that came too long ago`() async throws {
    try await pool(1) { pool in
      var late = request(of: "late")
      late.arrival -= .seconds(11)
      await #expect { try await pool.run(for: late) { _ throws(Problem) in } } throws: {
        ($0 as? Problem)?.kind == "busy"
      }
      late.arrival = .now
      try await pool.run(for: late) { _ throws(Problem) in }
    }
  }

  @Test func `are all used while many ask`() async throws {
    try await pool(3) { pool in
      let (gates, begun) = ((0..<3).map { _ in Gate() }, (0..<3).map { _ in Gate() })
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<3 {
          group.addTask {
            try await pool.run { _ throws(Problem) in
              begun[number].open()
              gates[number].wait()
            }
          }
        }
        // All three are at work at one time.
        for gate in begun { gate.wait() }
        for gate in gates { gate.open() }
        try await group.waitForAll()
      }
    }
  }
}

@Suite struct `Places for clients` {
  private func token(_ hash: String) throws -> AccessToken {
    let text = "{\"name\":\"\(hash)\",\"hash\":\"\(hash)\",\"tables\":{},\"created\":0}"
    return try JSONDecoder().decode(AccessToken.self, from: Data(text.utf8))
  }

  @Test func `are not all taken by one token`() throws {
    let gate = Turnstile(most: 8)
    let (wild, calm) = (try token("wild"), try token("calm"))
    let taken = (0..<20).count { _ in gate.enter(for: wild) }
    #expect(taken == 6)
    #expect(gate.enter(for: calm) && gate.enter(for: calm))
    #expect(!gate.enter(for: calm) && !gate.enter())
    gate.leave(for: wild)
    #expect(gate.enter(for: calm) && !gate.enter(for: wild))
    // Who has left has all places again.
    for _ in 0..<5 { gate.leave(for: wild) }
    for _ in 0..<3 { gate.leave(for: calm) }
    #expect((0..<20).count { _ in gate.enter(for: wild) } == 6)
  }

  @Test func `of requests are not all taken by one who asks`() {
    var places = RequestPlaces(most: 8)
    var number = 0
    func take(_ asker: String) -> Int {
      var count = 0
      while places.hasRoom(for: asker) {
        (number, count) = (number + 1, count + 1)
        places.enter(number, for: asker)
      }
      return count
    }
    #expect(take("wild") == 6 && take("calm") == 2 && take("third") == 0)
    places.leave(1)
    #expect(take("calm") == 1)
    places.leave(1)
    #expect(take("calm") == 0)
    for number in 2...9 { places.leave(number) }
    #expect(take("wild") == 6)
  }

  @Test func `are taken too by who asks for changes and waits for none`() async throws {
    let database = GatewayDatabase(Replica(path: "/nowhere/a.db"))
    let taken = (0..<40).count { _ in database.polls.enter() }
    let call = try await ChangeCall(
      HTTPRequest("GET", "/v1/a/changes"), try RequestTarget("/v1/a/changes"), database,
      try token("late"), mayStill: { true })
    let answer = try await call.answer()
    #expect(taken == 32 && answer.status == 503)
  }

  @Test func `of queries are not all taken by one token`() async throws {
    let database = GatewayDatabase(Replica(path: "/nowhere/a.db"))
    let (one, other) = (try token("a"), try token("b"))
    #expect(database.queries.enter(for: one))
    var request = HTTPRequest("POST", "/v1/a/query", body: Array(#"{"sql":"SELECT 1"}"#.utf8))
    request.headers = [("content-type", "application/json")]
    let problem = await #expect(throws: Problem.self) {
      try await QueryCall(database: database, token: one, request: request).answer()
    }
    #expect(problem?.kind == "busy")
    #expect(database.queries.enter(for: other))
  }

  @Test func `serve a request by the limits of its own server`() {
    var request = HTTPRequest("GET", "/")
    request.turnTime = .milliseconds(300)
    #expect(request.deadline == request.arrival + .milliseconds(300) + RowDesk.longest)
  }

  @Test func `are one each even where there are few`() throws {
    let gate = Turnstile(most: 1)
    let (one, other) = (try token("a"), try token("b"))
    #expect(gate.enter(for: one) && !gate.enter(for: other))
    #expect(!Turnstile(most: 8).enter(9))
  }
}
