extension Session {
  /// Compares the peer's Hello with ours; a mismatch ends in a Bye that a person understands.
  mutating func greet(_ hello: Hello, _ directives: inout [Directive], _ now: Instant) {
    let mine = configuration.hello
    // Logs call it as the site does, whatever it says.
    var hello = hello
    if let name = configuration.peerName { hello.name = name }
    guard hello.version >= Self.versions.lowerBound else {
      let text =
        "\(hello.name) speaks protocol \(hello.version), this node needs "
        + "\(Self.versions.lowerBound); update Flotilla on \(hello.name)"
      return fail(Bye(.version, text), &directives)
    }
    guard mine.version >= hello.version || hello.version - mine.version <= 1 else {
      let text =
        "\(hello.name) speaks protocol \(hello.version), this node only "
        + "\(mine.version); update Flotilla on \(mine.name)"
      return fail(Bye(.version, text), &directives)
    }
    guard hello.node != mine.node else {
      return fail(Bye(.oneself, "this is the node itself"), &directives)
    }
    switch configuration.shown {
    case .member(hello.node) where hello.purpose == .member, .joiner where hello.purpose == .join,
      nil:
      break
    default:
      return fail(Bye(.badMessage, "this is not whom the handshake has shown"), &directives)
    }
    peer = hello
    licence = licence(of: hello)
    if hello.purpose == .join {
      state = .pairing
      directives.append(.opened(hello))
      return
    }
    guard hello.site == mine.site else {
      return fail(Bye(.anotherSite, "\(hello.name) belongs to another site"), &directives)
    }
    state = .open
    peerStanding = hello.standing
    knowsFloors = hello.standing == CutStanding()
    directives.append(.opened(hello))
    tellProgram(&directives, now)
    tellStability(&directives, now)
    considerRenewal(&directives)
    directives.append(.heardClock(hello.view))
    sendPing(&directives, now)
  }
}
