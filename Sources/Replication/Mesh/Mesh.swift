/// Whom to dial and which connection to keep: one connection per pair of nodes.
///
/// A pure machine. Addresses are hints, from discovery, from members, from the operator or from
/// earlier days; identity comes from the peer's Hello alone.
package struct Mesh: Sendable {
  package typealias ConnectionID = UInt64

  package enum Input: Sendable {
    /// A service was found or has gone; `service` is its random name on the air.
    case discovered(service: String, address: String)
    case lost(service: String)
    /// Addresses of the operator.
    case configured([String])
    /// A person has named an address and waits for what is there.
    case named(address: String)
    /// A member's address, from another member.
    case heard(node: Identity, address: String)
    /// A connected member's address, by its own word.
    case met(node: Identity, address: String)
    /// A member's address, from before this node was started.
    case remembered(node: Identity, address: String)
    /// The stream or the greeting failed; every `dial` ends in this, `opened` or `isSelf`.
    case dialFailed(address: String)
    /// A session is up; `dialled` is the address if this side dialled.
    case opened(ConnectionID, Hello, dialled: String?)
    case closed(ConnectionID)
    /// A member has left the site.
    case left(Identity)
    /// What answers at an address is no member, though a person named it.
    case dismissed(address: String)
    /// The peer turned out to be this node itself.
    case isSelf(address: String)
    case tick
    /// The machine was asleep, or its addresses have changed.
    case woke
  }

  package enum Directive: Sendable, Equatable {
    case dial(address: String)
    case drop(ConnectionID, Bye)
    /// A member was reached at this address.
    case remember(node: Identity, name: String, address: String)
  }

  struct Peering: Sendable {
    var id: ConnectionID
    var node: Identity
    var run: UInt64
    var life: UInt64
    var weDialled: Bool
    var address: String?
    /// The uptime at which it was opened.
    var since: Int64
  }

  package let node: Identity
  var candidates: [String: Candidate] = [:]
  var peerings: [ConnectionID: Peering] = [:]
  var sighted = Sighted()
  var runs = Runs()

  package init(node: Identity) { self.node = node }

  package mutating func receive(_ input: Input, at now: Instant) -> [Directive] {
    var directives: [Directive] = []
    switch input {
    case .discovered(let service, let address):
      sight(service, at: address, now)
    case .lost(let service):
      sighted.lose(service)
      for (address, candidate) in candidates where candidate.service == service {
        candidates[address]?.service = nil
        if !candidate.isLasting, !candidate.isDialling { candidates[address] = nil }
      }
    case .configured(let addresses):
      for address in addresses { update(address, now) { $0.name() } }
    case .named(let address):
      update(address, now) {
        $0.name()
        if $0.nextTry > now.uptime { $0.retry(at: now.uptime) }
      }
    case .heard(let node, let address):
      // An old address of one node may be another's today: who is there says so itself.
      guard !isHeld(address, byOtherThan: node), makeRoom(for: address, of: node) else { break }
      let isNews = candidates[address]?.node != node
      hear(node, address, now)
      if isNews { candidates[address]?.isHearsay = true }
    case .met(let node, let address):
      hear(node, address, now)
      if node != self.node { candidates[address]?.meet(node, at: now.uptime) }
    case .remembered(let node, let address):
      // Of two that were there once each may be.
      let isNews = candidates[address]?.node.map { $0 != node } ?? false
      hear(node, address, now, isStart: true)
      candidates[address]?.isKnown = true
      if isNews { candidates[address]?.isHearsay = true }
    case .dialFailed(let address):
      if let candidate = candidates[address] {
        // Who fills the air makes nobody dial more seldom where a member was.
        let alike = candidates.values.count { $0.isKnown == candidate.isKnown }
        candidates[address]?.fail(now.uptime, candidates: alike)
      }
      // Its service went while it was dialled: nobody names this address any more.
      if let candidate = candidates[address], candidate.service == nil, !candidate.isLasting {
        candidates[address] = nil
      }
      giveWay(address, now)
    case .opened(let id, let hello, let dialled):
      open(id, hello, dialled: dialled, now, &directives)
    case .closed(let id):
      if let peering = peerings.removeValue(forKey: id) { release(peering, now) }
    case .left(let node): forget(node, now)
    case .dismissed(let address):
      guard candidates[address]?.node == nil, candidates[address]?.service == nil else { break }
      candidates[address] = nil
    case .isSelf(let address):
      candidates[address]?.isDialling = false
      candidates[address]?.isSelf = true
    case .tick: break
    case .woke:
      for address in candidates.keys { candidates[address]?.retry(at: now.uptime) }
    }
    if !sighted.isEmpty { takeSighted(now) }
    dial(&directives, now)
    return directives
  }

  /// The uptime at which the mesh wants its next `tick`; nil if nothing is due.
  package var deadline: Int64? {
    // The end of a dial makes room for the next.
    let room = hasRoom
    return candidates.values.filter { ($0.isKnown || room) && wants($0) }.map(\.nextTry).min()
  }

  private mutating func hear(
    _ node: Identity, _ address: String, _ now: Instant, isStart: Bool = false
  ) {
    guard node != self.node else { return }
    let known = candidates[address]
    guard known != nil || candidates.count < Candidate.lastingLimit else { return }
    // The lower node id dials, the other after a while; hearing it again is no reason to wait, nor
    // is a start: nobody else knows of it.
    let waits = !isStart && node < self.node && known?.node != node
    update(address, now) {
      if $0.node != node { $0.isSelf = false }
      if waits, $0.failures == 0 {
        $0.nextTry = max($0.nextTry, now.uptime + 1_500)
      }
      $0.node = node
      $0.isLasting = true
    }
  }

  /// A member has left. Others may be at an address where it was only said to be.
  private mutating func forget(_ node: Identity, _ now: Instant) {
    for (address, candidate) in candidates where candidate.node == node {
      candidates[address] = nil
      guard candidate.isNamed || candidate.isHearsay && candidate.isKnown else { continue }
      update(address, now) {
        ($0.isLasting, $0.isKnown, $0.isNamed) = (true, true, candidate.isNamed)
      }
    }
  }

  /// Whether there is room for one more address of a node that others have told and at which it was
  /// never met; one that fails again and again makes room.
  private mutating func makeRoom(for address: String, of node: Identity) -> Bool {
    guard candidates[address] == nil else { return true }
    let told = candidates.filter {
      $0.value.node == node && $0.value.metAt == nil && $0.value.service == nil
    }
    guard told.count >= Candidate.toldLimit else { return true }
    let worst = told.filter { $0.value.failures >= 3 && !$0.value.isDialling }
      .max { ($0.value.failures, $0.key) < ($1.value.failures, $1.key) }
    guard let worst else { return false }
    candidates[worst.key] = nil
    return true
  }

  /// Whether another node was met at an address by the connection that it has now.
  package func isHeld(_ address: String, byOtherThan node: Identity) -> Bool {
    guard let known = candidates[address], let holder = known.node, holder != node,
      let metAt = known.metAt
    else { return false }
    return peerings.values.contains { $0.node == holder && $0.since <= metAt }
  }

  mutating func update(
    _ address: String, _ now: Instant, _ change: (inout Candidate) -> Void
  ) {
    var candidate = candidates[address] ?? Candidate(nextTry: now.uptime)
    change(&candidate)
    candidates[address] = candidate
  }

  private mutating func dial(_ directives: inout [Directive], _ now: Instant) {
    let due = candidates.filter { $0.value.nextTry <= now.uptime && wants($0.value) }
    let others = next(
      of: due.filter { !$0.value.isKnown }, room: Candidate.dialsAtOnce - dialling)
    for address in (due.filter(\.value.isKnown).map(\.key) + others).sorted() {
      candidates[address]?.isDialling = true
      directives.append(.dial(address: address))
    }
  }

  private var dialling: Int { candidates.values.count { $0.isDialling && !$0.isKnown } }
  private var hasRoom: Bool { dialling < Candidate.dialsAtOnce }

  private func wants(_ candidate: Candidate) -> Bool {
    guard !candidate.isSelf, !candidate.isDialling else { return false }
    guard let node = candidate.node, candidate.isWhose else { return true }
    return !peerings.values.contains { $0.node == node }
  }

  private mutating func release(_ peering: Peering, _ now: Instant) {
    let isLower = node < peering.node
    for (address, candidate) in candidates where candidate.node == peering.node {
      if candidate.isDialling, address != peering.address { continue }
      let stays = now.uptime - peering.since < Candidate.shortStay ? candidate.shortStays + 1 : 0
      let pause = Int64(isLower ? 200 : 700) << Int64(max(0, min(stays, 10) - 1))
      candidates[address]?.isDialling = false
      candidates[address]?.shortStays = stays
      candidates[address]?.retry(at: now.uptime + min(pause, Candidate.slowest))
    }
  }
}
