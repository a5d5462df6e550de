import Dispatch

/// The search for other nodes on the LAN, and the announcement of this one, by Avahi.
///
/// Never required: without D-Bus or a daemon it says so once, and goes on trying every few
/// seconds. What it finds is a hint, identity comes from the handshake. libavahi-client has no
/// locks, so all of it runs in one thread, which looks into a mailbox when it is woken.
package final class Discovery: Sendable {
  /// The most events that wait for a reader: those of a thousand services come at once.
  package static let unread = 4_096

  /// What was found and lost, for one reader; of more unread events the oldest go.
  package let events: AsyncStream<DiscoveryEvent>

  private let mailbox: DiscoveryMailbox

  /// Starts to search for services of a type such as `_flotilla._tcp`.
  package init(serviceType: String) {
    let (events, continuation) = AsyncStream<DiscoveryEvent>.makeStream(
      bufferingPolicy: .bufferingNewest(Self.unread))
    self.events = events
    let mailbox = DiscoveryMailbox()
    self.mailbox = mailbox
    DispatchQueue(label: "flotilla.avahi").async {
      let loop = DiscoveryLoop(serviceType: serviceType, mailbox: mailbox, events: continuation)
      if let loop {
        loop.run()
      } else {
        continuation.yield(.unavailable(reason: "no descriptor is left for the search"))
      }
      continuation.finish()
      mailbox.finish()
    }
  }

  // The thread keeps the mailbox, not this object, so it ends with the last owner.
  deinit { mailbox.requestStop() }

  /// Announces this node, or changes what is announced.
  ///
  /// A name that somebody else has is replaced by a random one; nobody should rely on names.
  package func advertise(
    name: String, port: UInt16, txt: [String: String]
  ) throws(NetworkError) {
    // RFC 6763, 4.1.1: the instance is one DNS label, at most 63 bytes.
    guard (1...63).contains(name.utf8.count), !name.utf8.contains(0) else {
      throw NetworkError(.invalidAdvertisement, "the name of a service is 1 to 63 bytes long")
    }
    let record = try TXTRecord(announcing: txt)
    mailbox.post(Advertisement(name: name, port: port, txt: record))
  }

  /// Whether a text is short enough to be announced.
  package static func fits(_ txt: [String: String]) -> Bool {
    TXTRecord.size(of: txt) < TXTRecord.sizeLimit
  }

  /// Withdraws the announcement and goes on searching.
  package func stopAdvertising() { mailbox.post(nil) }

  /// Ends the search and the announcement, and returns when the thread has ended.
  ///
  /// That can take as long as a call to an unresponsive D-Bus, which is 25 s.
  package func stop() async {
    mailbox.requestStop()
    await mailbox.untilFinished()
  }
}
