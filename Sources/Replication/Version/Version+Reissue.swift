extension Version {
  /// The same edit under a dot of who hands it on, for nobody may be left who can do so under its
  /// own. It ranks just above that one, so that who holds it lacks nothing.
  package func adopted(as dot: Dot) -> Version {
    var version = self
    version.dot = dot
    version.stamp = stamp.successor
    version.certificate = nil
    version.session = 0
    // A row that got a number goes on to be the same one: another would have to leave the key.
    if created == self.dot, numbering.turn == nil {
      (version.created, version.createdAt) = (dot, version.stamp)
    }
    version.context.add(edit)
    version.context = version.context.without(dot.origin)
    return version
  }

  /// The edit that is certified here, as its author made it.
  package var asEdit: Version {
    var version = self
    (version.dot, version.certificate) = (edit, nil)
    return version
  }

  /// The same edit as one that makes the row: what stood before is forgotten.
  package var madeAnew: Version {
    var version = self
    (version.created, version.createdAt) = (dot, stamp)
    version.context = .empty
    return version
  }

  /// The same edit under a dot of a later life, for others may know its old dot for another edit.
  ///
  /// Up to `common` the edits of the old origin are the same everywhere; of those this one
  /// descends from all that are of its row. What this replica certified in doubt is an edit again,
  /// which the anchor of the day judges.
  package func reissued(as dot: Dot, common: UInt64) -> Version {
    let old = self.dot
    var version = self
    version.dot = dot
    version.certificate = nil
    version.session = 0
    // Two of one stamp are told apart by their origins: what this one has replaced it goes on to.
    if version.rank < rank { version.stamp = stamp.successor }
    if created.origin == old.origin, created.seq > common {
      // What is its own creation has no other time of it: none travels.
      (version.created, version.createdAt) = (dot, version.stamp)
    }
    if let certificate, certificate.edit.origin != old.origin {
      version.context.add(certificate.edit)
    }
    if common > 0 { version.context.add(Dot(old.origin, common)) }
    version.context = version.context.without(dot.origin)
    return version
  }
}
