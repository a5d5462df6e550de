import Replication
import Store

/// A snapshot of a replica in memory that is being read, a few rows at a time.
struct MemoryExport {
  let covers: Frontier
  let rows: [(row: RowNumber, version: Version, content: WireRow.Content)]
  /// Where it begins, if it is no repair.
  let start: Frontier?
  var next = 0

  /// The next export would not begin where this one did.
  var goesOn: Bool { start.map { !$0.covers(progress) } ?? true }
  var progress: Frontier { next == 0 ? Frontier() : covers.reached(at: rows[next - 1].version.dot) }
}

extension MemoryReplica {
  /// A snapshot: every version above the peer's frontier, even beyond what it covers.
  func openExport(
    _ scope: Session.ExportScope, _ filter: ExportFilter, at now: Instant
  ) throws -> OpenedSource {
    let fold = fold(at: now)
    let own = filter.sender.writes ? file.frontier.only(origin) : Frontier()
    let covers = filter.sender.isWhole ? file.frontier : own
    func isWanted(_ row: RowNumber, _ version: Version) -> Bool {
      guard filter.passes(Self.shape.name), filter.sender.isWhole || version.dot.origin == origin
      else { return false }
      return switch scope {
      case .above(let frontier), .unsent(let frontier, _): !frontier.covers(version.dot)
      case .buckets(let buckets):
        buckets.contains(Digest.bucket(table: Self.table, key: Self.encoded[row]))
      case .rows(let names): names.contains { $0.key == Self.encoded[row].bytes }
      case .bucket(let bucket, let frontier):
        bucket == Digest.bucket(table: Self.table, key: Self.encoded[row])
          && !frontier.covers(version.dot)
      }
    }
    var rows: [(row: RowNumber, version: Version, content: WireRow.Content)] = []
    for (row, version) in file.versions where isWanted(row, version) {
      rows.append((row, version, held(version, row)))
    }
    for (row, versions) in file.office.pending.sorted(by: { $0.key < $1.key }) {
      for version in versions.values where isWanted(row, version) {
        rows.append((row, version, held(version, row)))
      }
    }
    for one in file.office.rulings.values where isWanted(one.row, one.version) {
      let key = [Replication.Value.integer(Int64(one.row))]
      rows.append((one.row, one.version, .ruling(one.ruling, key: key)))
    }
    rows.sort { $0.version.dot < $1.version.dot }
    let id = register(
      MemoryExport(covers: covers, rows: rows, start: scope.start))
    return OpenedSource(
      id: id, covers: covers, rows: UInt64(rows.count), fold: fold,
      judged: file.office.judged.term == .none ? nil : file.office.judged)
  }

  func readExport(_ id: Int64, at now: Instant) throws -> SourceStep {
    guard var export = exports[id] else { throw StoreError(.sqlite, "the export is closed") }
    guard export.next < export.rows.count else { return .done }
    if export.next > 0, pausesNow(), export.goesOn { return .paused(progress: export.progress) }
    var writer = RowBatchWriter()
    for (_, version, content) in export.rows[export.next...].prefix(batchRows) {
      writer.add(Self.shape, version, content)
      export.next += 1
    }
    exports[id] = export
    return .batch(bytes: writer.bytes, rows: UInt64(writer.rowCount), check: writer.check)
  }

  func closeExport(_ id: Int64) { exports[id] = nil }

  // There is no disk that could fail.
  var isGone: Bool { false }
  var hasTrouble: Bool { false }
  func spoilDisk(_ random: inout Seeded) {}
  func calmDisk(_ isCalm: Bool) {}

  var rights: Rights { file.rights }

  /// Of its one table the right stays, so that nothing is to be taken back or fetched.
  func allow(
    _ rights: Rights, delivered: UInt64, at now: Instant, _ history: inout History
  ) {
    file.rights = rights
    durable = file
  }

  func wantedRows() -> [RowName] { [] }

  func keep(_ statements: [SignedStatement]) {
    file.statements += statements
    durable = file
  }

  func statements() -> [SignedStatement] { file.statements }
  func held(where isWanted: (String) -> Bool) -> [RowNumber: Version] {
    isWanted(Self.shape.name) ? file.versions : [:]
  }
  func mayRead(_ row: RowNumber) -> Bool { true }

  var additions: Set<String> { [] }
  func catchUp(with additions: Set<String>, at now: Instant, _ story: inout Story) {}

  func kill() { (exports, online, liveSessions) = ([:], 0, [:]) }

  func cutPower(_ random: inout Seeded) {
    kill()
    // What was not synced may be there all the same.
    if random.chance(500) { file = durable }
  }

  func restart(at now: Instant, hadPower: Bool, _ history: inout History) {
    if !hadPower { witness.setBack(to: observation, own: origin, &history, at: name) }
  }

  func observe() -> Observation { observation }

  var observation: Observation {
    Observation(
      frontier: file.frontier, versions: file.versions,
      rows: file.rows,
      givenUp: file.givenUp, isRenewing: file.stability.renewal != nil,
      isBehind: file.stability.standing.isBehind,
      log: hasOffice ? file.office.log : nil, office: officeView)
  }

  func inspect(at now: Instant, _ history: inout History) {
    witness.check(
      observation, own: origin, isFolded: isFolded, at: name, now, &history)
  }
}
