/// Two replicas look at each other's rows, without their values.
extension Session {
  struct Inspecting: Sendable {
    /// What was asked of the peer.
    enum Asking: Sendable, Equatable {
      /// Nothing, or its answer is not wanted any more. Next: sums, rows.
      case idle
      /// Next: idle.
      case sums
      /// Those of some buckets, after the last one that came. Next: idle.
      case rows(Set<Int>, after: AccountRow.Place?)
    }

    /// What the peer has asked.
    enum Answering: Sendable, Equatable {
      /// Nothing. Next: reading.
      case idle
      /// The shell reads it. Next: full, idle.
      case reading(Inspect)
      /// A part was sent; the next one is read when there is room for it. Next: reading, idle.
      case full(Inspect)
    }

    var asking = Asking.idle
    var answering = Answering.idle
    /// Questions that were asked, and that were heard.
    var asked: UInt64 = 0
    var heard: UInt64 = 0
    /// A later question, which waits for the shell to leave the one before it.
    var next: Inspect?
  }

  /// True if what the shell reads for the peer is not wanted any more.
  package var wantsOtherAccount: Bool { inspecting.next != nil }

  /// Asks the peer for its sums, or for its rows of these buckets.
  mutating func inspect(
    _ buckets: [Int], _ directives: inout [Directive], _ now: Instant
  ) {
    guard sharesDigests else {
      inspecting.asking = .idle
      return directives.append(.inspected(.nothing(.notAllowed)))
    }
    inspecting.asked += 1
    inspecting.asking = buckets.isEmpty ? .sums : .rows(Set(buckets), after: nil)
    let wanted = Set(buckets.compactMap { UInt8(exactly: $0) }).sorted()
    send(.inspect(Inspect(number: inspecting.asked, buckets: wanted)), &directives, now)
  }

  /// The peer asks: one question is answered at a time, and of those that wait the latest.
  mutating func hear(
    _ inspect: Inspect, _ directives: inout [Directive], _ now: Instant
  ) {
    guard inspect.number == inspecting.heard + 1 else {
      return fail(Bye(.badMessage, "Inspect out of order"), &directives)
    }
    inspecting.heard = inspect.number
    guard sharesDigests else {
      let refusal = Account(number: inspect.number, .nothing(.notAllowed))
      return send(.account(refusal), &directives, now)
    }
    switch inspecting.answering {
    case .reading: inspecting.next = inspect
    case .idle, .full: answer(inspect, &directives)
    }
  }

  private mutating func answer(_ inspect: Inspect, _ directives: inout [Directive]) {
    inspecting.next = nil
    inspecting.answering = .reading(inspect)
    directives.append(.openAccount(inspect.buckets.map(Int.init)))
  }

  /// The shell has read a part of the answer.
  mutating func accounted(
    _ content: Account.Content, _ directives: inout [Directive], _ now: Instant
  ) {
    guard case .reading(let inspect) = inspecting.answering else { return }
    if let next = inspecting.next { return answer(next, &directives) }
    send(.account(Account(number: inspect.number, content)), &directives, now)
    if case .rows(_, isLast: false) = content {
      inspecting.answering = .full(inspect)
    } else {
      inspecting.answering = .idle
      directives.append(.closeAccount)
    }
  }

  /// There is room: the answer goes on.
  mutating func goOnAccounting(_ directives: inout [Directive]) {
    guard case .full(let inspect) = inspecting.answering else { return }
    inspecting.answering = .reading(inspect)
    directives.append(.readAccount)
  }

  /// A part of what was asked for, or one that comes too late.
  mutating func hear(_ account: Account, _ directives: inout [Directive]) {
    guard account.number > 0, account.number <= inspecting.asked else {
      return fail(Bye(.badMessage, "Account of what was not asked"), &directives)
    }
    guard account.number == inspecting.asked else { return }
    switch (inspecting.asking, account.content) {
    case (.idle, _): return
    case (.sums, .sums), (_, .nothing): inspecting.asking = .idle
    case (.rows(let buckets, let last), .rows(let rows, let isLast)):
      let follows = [last, rows.first?.place].compactMap { $0 }
      guard isLast || !rows.isEmpty, follows.count < 2 || follows[0] < follows[1],
        rows.allSatisfy({ buckets.contains($0.bucket) })
      else { return fail(Bye(.badMessage, "Account of other rows"), &directives) }
      inspecting.asking = isLast ? .idle : .rows(buckets, after: rows.last?.place ?? last)
    default: return fail(Bye(.badMessage, "Account of something else"), &directives)
    }
    directives.append(.inspected(account.content))
  }

  /// A person wants what differs repaired now: both sides send all versions of these buckets.
  mutating func repair(
    _ buckets: [Int], _ directives: inout [Directive], _ now: Instant
  ) {
    guard sharesDigests else { return }
    let shown = Buckets(frontierHash: position.frontier.hash, digest: digest)
    send(.buckets(shown), &directives, now)
    guard configuration.ownRights.isWhole else { return }
    outgoing.repair = buckets
    openRepair(&directives)
  }
}
