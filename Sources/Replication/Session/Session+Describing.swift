/// A member asks another one for its schema, and is told what a joiner is told.
extension Session {
  struct Describing: Sendable {
    enum Asking: Sendable, Equatable {
      /// Next: asked.
      case idle
      /// The offer tells how many objects follow. Next: coming, idle.
      case asked
      /// So many are still to come. Next: idle.
      case coming(UInt64)
    }

    var asking = Asking.idle
    /// What came so far, and about how many bytes it has.
    var objects: [SchemaObject] = []
    var bytes = 0
    /// The peer has asked, and the shell reads.
    var isAnswering = false
  }

  /// Asks the peer, unless its answer is on its way already.
  mutating func describe(_ directives: inout [Directive], _ now: Instant) {
    guard describing.asking == .idle else { return }
    describing.asking = .asked
    send(.describe, &directives, now)
  }

  /// The peer asks; who asks again has waited for the answer.
  mutating func hearDescribe(_ directives: inout [Directive]) {
    guard !describing.isAnswering else {
      return fail(Bye(.badMessage, "Describe before the answer to the one before"), &directives)
    }
    describing.isAnswering = true
    directives.append(.describe)
  }

  /// Tells a joiner, or a member that has asked, what there is.
  mutating func tell(
    _ offer: Offer, _ objects: [SchemaObject], _ directives: inout [Directive], _ now: Instant
  ) {
    guard state == .pairing || state == .open && describing.isAnswering else { return }
    describing.isAnswering = false
    send(.offer(offer), &directives, now)
    for object in objects { send(.schema(object), &directives, now) }
  }

  mutating func hear(_ offer: Offer, _ directives: inout [Directive]) {
    guard describing.asking == .asked else {
      return fail(Bye(.badMessage, "Offer of what was not asked"), &directives)
    }
    describing.asking = .coming(offer.objects)
    endDescription(&directives)
  }

  /// One object of the peer's schema; together they are bounded as a joiner bounds them.
  mutating func hear(_ object: SchemaObject, _ directives: inout [Directive]) {
    guard case .coming(let rest) = describing.asking else {
      return fail(Bye(.badMessage, "Schema of what was not asked"), &directives)
    }
    describing.bytes += object.size
    guard describing.bytes <= Limits.schemaBytes else {
      let text = "a schema of more than \(Limits.schemaBytes) bytes"
      return fail(Bye(.badMessage, text), &directives)
    }
    describing.objects.append(object)
    describing.asking = .coming(rest - 1)
    endDescription(&directives)
  }

  private mutating func endDescription(_ directives: inout [Directive]) {
    guard describing.asking == .coming(0) else { return }
    directives.append(.described(describing.objects))
    (describing.asking, describing.objects, describing.bytes) = (.idle, [], 0)
  }
}
