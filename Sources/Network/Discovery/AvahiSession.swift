import CAvahi

/// One connection to the daemon and all that was made with it; freed as a whole.
///
/// Belongs to one thread. Callbacks come only within `avahi_simple_poll_iterate` and within the
/// calls that make something; they append to `notices` and return. Freeing the client frees
/// browser, group and resolvers, so nothing can call back after `deinit`.
final class AvahiSession {
  let serviceType: String
  private(set) var client: OpaquePointer?
  private var notices: [AvahiNotice] = []
  private var browser: OpaquePointer?
  /// Whether groups may be filled: the daemon runs and knows its host name.
  private(set) var isRunning = false

  var group: OpaquePointer?
  var published: Advertisement?
  /// Before this time nothing is announced, since it has just failed.
  var publishingPause: ContinuousClock.Instant?
  /// The resolvers at work; nil in place of one that failed and waits.
  var resolvers: [Sighting: AvahiResolver] = [:]

  /// Connects to the bus; the daemon may come later.
  ///
  /// AVAHI_CLIENT_NO_FAIL: "Don't fail if the daemon is not available when avahi_client_new() is
  /// called, instead enter AVAHI_CLIENT_CONNECTING state and wait for the daemon to appear".
  init(serviceType: String, poll: OpaquePointer) throws(NetworkError) {
    self.serviceType = serviceType
    var error: Int32 = 0
    client = avahi_client_new(
      avahi_simple_poll_get(poll), AVAHI_CLIENT_NO_FAIL,
      { client, state, context in
        AvahiSession.from(context).clientChanged(client, to: state)
      }, context, &error)
    guard client != nil else {
      throw NetworkError(.unreachable, "no connection to Avahi: \(Self.text(of: error))")
    }
  }

  deinit { if let client { avahi_client_free(client) } }

  var anyInterface: Int32 { Int32(AVAHI_IF_UNSPEC) }
  var anyFamily: Int32 { Int32(AVAHI_PROTO_UNSPEC) }

  /// This object as the context of a callback; unretained, for `deinit` ends the callbacks.
  var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  static func from(_ context: UnsafeMutableRawPointer?) -> AvahiSession {
    Unmanaged<AvahiSession>.fromOpaque(context!).takeUnretainedValue()
  }

  static func text(of error: Int32) -> String { String(cString: avahi_strerror(error)) }

  var hasNotices: Bool { !notices.isEmpty }

  /// Leaves a notice for the loop.
  func leave(_ notice: AvahiNotice) { notices.append(notice) }

  /// All notices since the last call, in order.
  func takeNotices() -> [AvahiNotice] {
    defer { notices = [] }
    return notices
  }

  /// When the loop should come back by itself, if ever.
  var nextDue: ContinuousClock.Instant? {
    (resolvers.values.compactMap(\.retry) + [publishingPause].compactMap { $0 }).min()
  }

  /// Starts to look for services, once; returns whether the daemon took the request.
  func startBrowsing() -> Bool {
    if browser != nil { return true }
    browser = avahi_service_browser_new(
      client, anyInterface, anyFamily, serviceType, nil,
      AvahiLookupFlags(0),
      { _, interface, family, event, name, _, domain, flags, context in
        AvahiSession.from(context).browsed(event, interface, family, name, domain, flags)
      }, context)
    return browser != nil
  }

  /// The first call comes from within `avahi_client_new`, so only the argument is used.
  private func clientChanged(_ client: OpaquePointer?, to state: AvahiClientState) {
    isRunning = state == AVAHI_CLIENT_S_RUNNING
    switch state {
    case AVAHI_CLIENT_S_RUNNING: leave(.running)
    case AVAHI_CLIENT_CONNECTING: leave(.connecting)
    case AVAHI_CLIENT_S_REGISTERING, AVAHI_CLIENT_S_COLLISION: leave(.hostNameUnsettled)
    case AVAHI_CLIENT_FAILURE: leave(.failed(Self.text(of: avahi_client_errno(client))))
    default: break
    }
  }

  private func browsed(
    _ event: AvahiBrowserEvent, _ interface: Int32, _ family: Int32,
    _ name: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?, _ flags: AvahiLookupResultFlags
  ) {
    if event == AVAHI_BROWSER_FAILURE { return leave(.failed("the Avahi daemon ended the search")) }
    if event == AVAHI_BROWSER_ALL_FOR_NOW { return leave(.settled) }
    guard let name, let domain else { return }
    let sighting = Sighting(interface: interface, family: family, name: String(cString: name))
    if event == AVAHI_BROWSER_NEW {
      let isOurs = flags.rawValue & AVAHI_LOOKUP_RESULT_OUR_OWN.rawValue != 0
      leave(.appeared(sighting, domain: String(cString: domain), isOurs: isOurs))
    } else if event == AVAHI_BROWSER_REMOVE {
      leave(.vanished(sighting))
    }
  }
}
