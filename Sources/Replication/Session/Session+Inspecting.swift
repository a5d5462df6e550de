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
    /// A later question, which waits for the shell to leave the one before it, or for its turn.
    var next: Inspect?
    /// When its turn comes.
    var due: Int64?
    /// Since when the shell reads.
    var readsSince: Int64?
    /// Sums were told, so rows of them may be asked for, once without waiting.
    var hasSums = false
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
    inspecting.next = inspect
    if inspecting.readsSince == nil { answerNext(&directives, now) }
  }

  /// Has the question that waits answered, or leaves it for later: all rows are read for it.
  mutating func answerNext(_ directives: inout [Directive], _ now: Instant) {
    guard let next = inspecting.next else { return }
    let isFree = inspecting.hasSums && !next.buckets.isEmpty
    let rest = isFree ? 0 : supply.accounts.rest(before: 0, at: now)
    guard rest == 0 else {
      inspecting.due = now.uptime + rest
      guard inspecting.answering != .idle else { return }
      inspecting.answering = .idle
      return directives.append(.closeAccount)
    }
    (inspecting.next, inspecting.due, inspecting.hasSums) = (nil, nil, false)
    inspecting.answering = .reading(next)
    inspecting.readsSince = now.uptime
    directives.append(.openAccount(next.buckets.map(Int.init)))
  }

  /// The shell reads no more, or nobody wants it to.
  mutating func chargeForAccount(_ now: Instant) {
    guard let start = inspecting.readsSince else { return }
    inspecting.readsSince = nil
    supply.accounts.charge(10_000 * max(0, now.uptime - start), at: now)
  }

  /// The shell has read a part of the answer.
  mutating func accounted(
    _ content: Account.Content, _ directives: inout [Directive], _ now: Instant
  ) {
    guard case .reading(let inspect) = inspecting.answering else { return }
    chargeForAccount(now)
    guard inspecting.next == nil else { return answerNext(&directives, now) }
    if case .sums = content { inspecting.hasSums = true }
    send(.account(Account(number: inspect.number, content)), &directives, now)
    if case .rows(_, isLast: false) = content {
      inspecting.answering = .full(inspect)
    } else {
      inspecting.answering = .idle
      directives.append(.closeAccount)
    }
  }

  /// There is room: the answer goes on.
  mutating func goOnAccounting(_ directives: inout [Directive], _ now: Instant) {
    guard case .full(let inspect) = inspecting.answering else { return }
    inspecting.answering = .reading(inspect)
    inspecting.readsSince = now.uptime
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
