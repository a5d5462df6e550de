import Replication

/// What is said of an anchor: that it is appointed, and what it says itself.
extension Seeds {
  static var appointments: [[UInt8]] {
    let (a, b) = (AppointmentSite.nodes[0], AppointmentSite.nodes[2])
    func appoint(_ number: UInt64, _ node: Identity?, isForced: Bool = false) -> [UInt8] {
      AppointmentSite.input(
        UInt8(number % 3), UInt8(number),
        .appoint(number: number, node: node, isForced: isForced))
    }
    let inOrder = appoint(1, a) + appoint(2, b)
    return [
      appoint(1, a), inOrder, inOrder + appoint(3, nil) + appoint(4, a),
      inOrder + appoint(3, a, isForced: true) + appoint(3, b, isForced: true) + appoint(4, b),
      inOrder + AppointmentSite.input(0, 9, .revoke(node: a, heads: []))
        + AppointmentSite.input(1, 8, .leave) + appoint(5, AppointmentSite.nodes[3]),
    ]
  }

  /// Rows behind the beginning of a batch, in which the first four and three name all origins and
  /// terms in order.
  static var certificates: [[UInt8]] {
    let many = certificateVersions.flatMap { [$0, $0] }
    return [certificateRows(certificateVersions, rulings: true)]
      + certificateVersions.map { certificateRows([$0]) } + [certificateRows(many)]
  }

  private static func certificateRows(_ versions: [Version], rulings: Bool = false) -> [UInt8] {
    var writer = RowBatchWriter()
    for (index, origin) in CertificateBatch.origins.enumerated() {
      let dot = Dot(origin, 1)
      var version = Version(
        dot: dot, created: dot, stamp: Stamp(rawValue: 5), hash: 1, isDeleted: false)
      version.term = CertificateBatch.terms[min(index, 2)]
      writer.add(CertificateBatch.table, version, .values([.integer(1), .null]))
    }
    for version in versions {
      let content: WireRow.Content =
        version.isDeleted ? .deleted(key: [.integer(2)]) : .values([.integer(2), text("v")])
      writer.add(CertificateBatch.table, version, content)
    }
    let edit = Dot(CertificateBatch.origins[1], 9)
    for kind in [Ruling.Kind.rejected(.unseen), .tookOffice, .stoodDown] where rulings {
      let dot = Dot(CertificateBatch.origins[0], 70 + UInt64(kind.rawValue))
      writer.add(
        CertificateBatch.table,
        Version(dot: dot, created: dot, stamp: .zero, hash: 0, isDeleted: false),
        .ruling(Ruling(kind, edit: edit, rule: "server-wins"), key: [.integer(2)]))
    }
    let bytes = writer.bytes
    precondition(bytes.starts(with: CertificateBatch.beginning), "another beginning")
    return Array(bytes.dropFirst(CertificateBatch.beginning.count))
  }

  /// An edit, deleted or not, with all that can stand beside it, and certificates of two terms.
  private static var certificateVersions: [Version] {
    let (origins, terms) = (CertificateBatch.origins, CertificateBatch.terms)
    var edit = Version(
      dot: Dot(origins[1], 9), created: Dot(origins[0], 1), createdAt: Stamp(rawValue: 5),
      stamp: Stamp(rawValue: 1 << 40), hash: 7, isDeleted: false)
    edit.context.add(Dot(origins[0], 1))
    edit.context.add(Dot(origins[2], 3))
    (edit.term, edit.epoch, edit.session) = (terms[0], 3, 77)
    var deleted = edit
    (deleted.dot, deleted.hash, deleted.isDeleted) = (Dot(origins[2], 8), 0, true)
    (deleted.isUndated, deleted.session, deleted.context) = (true, 0, .empty)
    var lone = Version(
      dot: Dot(origins[3], 2), created: Dot(origins[3], 2), stamp: .highest, hash: 1,
      isDeleted: false)
    lone.epoch = 1
    return [
      edit, deleted, lone,
      edit.certified(Dot(origins[3], 5), term: terms[1], epoch: 4, at: Stamp(rawValue: 1 << 41)),
      deleted.certified(
        Dot(origins[0], 6), term: terms[2], epoch: 1 << 62, at: Stamp(rawValue: 1 << 41)),
    ]
  }
}
