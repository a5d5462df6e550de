import Replication
import Store

/// How an anchor in memory judges: the decisions are the product's.
extension MemoryReplica {
  /// True if there was a slice of it.
  @discardableResult
  func judgeDue(_ edits: inout MemoryEdits, at now: Instant) -> Bool {
    var items: [(row: RowNumber, version: Version)] = []
    for (row, versions) in file.office.pending.sorted(by: { $0.key < $1.key }) {
      for version in versions.values.sorted(by: { $0.dot < $1.dot })
      where isDue(version) {
        items.append((row, version))
      }
    }
    // What is there by name alone comes last.
    items.sort { ($0.version.stamp, $0.version.dot) < ($1.version.stamp, $1.version.dot) }
    let byName = file.office.byName
    items =
      items.filter { !byName.contains($0.version.dot) }
      + items.filter { byName.contains($0.version.dot) }
    let slice = items.prefix(judgedRows)
    for item in slice {
      drop(item.version, item.row)
      guard viewpoint.isUndecided(item.version, over: file.versions[item.row]) else { continue }
      judge(item.version, item.row, &edits, at: now)
    }
    return slice.count == judgedRows
  }

  func judge(
    _ edit: Version, _ row: RowNumber, _ edits: inout MemoryEdits, at now: Instant
  ) {
    let standing = file.versions[row]
    let isByName = file.office.byName.contains(edit.dot)
    let claim = Claim(edit: edit, standing: standing, in: isByName ? [:] : liveSessions)
    let term = file.office.office.term
    var judgement = Judgement(
      of: claim, under: rule, term: term,
      isDecided: [edit.first, edit.edit].contains { file.office.rejected[$0]?[term] != nil }
        || file.office.overruled[row, default: Frontier()].covers(edit.first))
    if judgement == .accepted, isByName, !isShown(edit, standing) { judgement = .rejected(.unseen) }
    switch (judgement, standing) {
    case (.settled(let certifiesAgain), let standing?):
      guard certifiesAgain else { return }
      certify(standing, over: edit, row, &edits, at: now)
    case (.rejected(let reason), let standing?):
      let ruling = Ruling(.rejected(reason), edit: edit.edit, rule: rule.name)
      put(ruling, row, &edits, at: now)
      if standing.hash != edit.hash, !isByName { log(edit, standing, row, reason.name) }
      certify(standing, over: edit, row, &edits, at: now)
    default:
      if let standing, !standing.isDeleted, viewpoint.isLost(standing, to: edit) {
        log(standing, edit, row, "unseen")
      }
      if let standing, !standing.isTentative, standing.term == term, !edit.hasSeen(standing) {
        for dot in standing.context.dots + [standing.edit] where !edit.hasSeen(dot) {
          file.office.overruled[row, default: Frontier()].raise(dot.origin, to: dot.seq)
        }
      }
      certify(edit.joined(with: standing), over: standing, row, &edits, at: now)
    }
  }

  /// Whether what an edit says is what stands.
  private func isShown(_ edit: Version, _ standing: Version?) -> Bool {
    guard let standing else { return false }
    return standing.edit == edit.edit || !standing.isDeleted && standing.hash == edit.hash
  }

  /// The word that this stands from now on, above another version.
  func certify(
    _ version: Version, over other: Version?, _ row: RowNumber, _ edits: inout MemoryEdits,
    at now: Instant
  ) {
    let certificate = version.certified(
      Dot(origin, edits.next()), term: file.office.office.term,
      epoch: nextEpoch(over: version, other), at: Stamp(millisecondsSince1970: now.wall))
    keep(certificate, row)
    show(certificate, row)
    edits.writer.add(Self.shape, certificate, Self.content(certificate, row))
  }

  func nextEpoch(over versions: Version?...) -> UInt64 {
    file.office.epoch = Epoch.next(after: file.office.epoch, over: versions)
    return file.office.epoch
  }

  func certifySlice(_ edits: inout MemoryEdits, at now: Instant) -> Bool {
    let start = file.office.cursor
    let end = min(Self.keys, start + judgedRows)
    for row in start..<end {
      guard let version = file.versions[row],
        file.office.office.mustCertify(version, isForced: file.office.certifiesAll)
      else { continue }
      certify(version, over: nil, row, &edits, at: now)
    }
    file.office.cursor = end
    return end < Self.keys
  }
}
