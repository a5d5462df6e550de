import CAvahi

extension AvahiSession {
  /// Brings what is announced into line with what is wanted, when the daemon is ready for it.
  func publish(_ wanted: Advertisement?, at now: ContinuousClock.Instant) {
    if let publishingPause, now < publishingPause { return }
    publishingPause = nil
    guard isRunning, wanted != published else { return }
    guard let wanted else { return withdraw() }
    switch changeText(to: wanted) ?? announce(wanted) {
    case 0: published = wanted
    case Int32(AVAHI_ERR_COLLISION): leave(.nameTaken)
    default: withdraw(until: now + .seconds(3))
    }
  }

  /// Takes back what is announced, and announces nothing before `pause`.
  func withdraw(until pause: ContinuousClock.Instant? = nil) {
    if let group { avahi_entry_group_reset(group) }
    published = nil
    publishingPause = pause
  }

  /// Changes the text alone, which spares the others a goodbye; nil if more has changed.
  private func changeText(to wanted: Advertisement) -> Int32? {
    guard let published, published.name == wanted.name, published.port == wanted.port else {
      return nil
    }
    return wanted.txt.withList { list in
      avahi_entry_group_update_service_txt_strlst(
        group, anyInterface, anyFamily,
        AvahiPublishFlags(0), wanted.name, serviceType, nil, list)
    }
  }

  /// Announces from scratch, and returns the first error of Avahi or 0.
  private func announce(_ wanted: Advertisement) -> Int32 {
    if group == nil {
      group = avahi_entry_group_new(
        client, { _, state, context in AvahiSession.from(context).groupChanged(to: state) }, context
      )
    }
    guard let group else { return avahi_client_errno(client) }
    withdraw()
    let code = wanted.txt.withList { list in
      avahi_entry_group_add_service_strlst(
        group, anyInterface, anyFamily,
        AvahiPublishFlags(0), wanted.name, serviceType, nil, nil, wanted.port, list)
    }
    return code == 0 ? avahi_entry_group_commit(group) : code
  }

  private func groupChanged(to state: AvahiEntryGroupState) {
    if state == AVAHI_ENTRY_GROUP_COLLISION { leave(.nameTaken) }
    if state == AVAHI_ENTRY_GROUP_FAILURE { leave(.publishingFailed) }
  }
}
