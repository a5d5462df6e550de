/// What a callback of Avahi has left for the loop, with everything copied.
enum AvahiNotice: Sendable {
  /// The daemon is not there yet.
  case connecting
  /// The daemon is there and its host name is settled: now things may be made.
  case running
  /// The daemon looks for a host name, so nothing may be announced meanwhile.
  case hostNameUnsettled
  /// The connection is over, and everything that was made with it.
  case failed(String)
  /// Somebody else has the name of our service.
  case nameTaken
  case publishingFailed
  case appeared(Sighting, domain: String, isOurs: Bool)
  case vanished(Sighting)
  /// Everything that the daemon knew was told.
  case settled
  case resolved(Sighting, DiscoveredService)
  case unresolved(Sighting)
}
