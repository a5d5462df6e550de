import Replication
import Store

/// Telling the peer what this replica holds, so that it can compare.
extension PeerSession {
  /// What was found when the peer asked last, as far as the rows of buckets need it.
  struct Accounting {
    var strays: [AccountRow]?
    var walk: Int64?
    var task: Task<Void, Never>?
  }

  func startAccount(_ step: @escaping @Sendable (PeerSession) async -> Void) {
    let before = accounting.task
    accounting.task = Task {
      await before?.value
      await step(self)
    }
  }

  /// Reads the sums, or opens the rows of these buckets and reads the first of them.
  func openAccount(_ buckets: [Int]) async {
    guard !isClosed else { return }
    await closeWalk()
    do {
      if buckets.isEmpty {
        guard let sums = try await sums() else { return await feed(.accounted(.nothing(.failed))) }
        return await feed(.accounted(.sums(sums)))
      }
      guard let strays = accounting.strays else {
        return await feed(.accounted(.nothing(.failed)))
      }
      accounting.walk = try await store.openWalk(buckets, machine.scope, strays: strays, told)
      await readAccount()
    } catch {
      await couldNotAccount(error)
    }
  }

  func readAccount() async {
    guard !isClosed, let walk = accounting.walk else { return }
    do {
      let (rows, isLast) = try await store.walk(walk, told) { await self.wantsAccount }
      await feed(.accounted(.rows(rows, isLast: isLast)))
      guard !isLast else { return }
      if outbox.hasRoom { await feed(.drained) } else { await store.restWalk(walk) }
    } catch {
      await couldNotAccount(error)
    }
  }

  func closeWalk() async {
    guard let walk = accounting.walk else { return }
    accounting.walk = nil
    await store.closeWalk(walk)
  }

  private func sums() async throws(StoreError) -> Account.Sums? {
    await owner?.untilTimeIsKnown(for: id)
    let found = try await store.audit(isGentle: true, told) { await self.wantsAccount }
    guard let (id, result) = found else { return nil }
    await store.closeAudit(id)
    accounting.strays = result.strays
    return Account.Sums(
      frontier: result.frontier, rows: UInt64(result.rows), uncaptured: UInt64(result.uncaptured),
      apart: UInt64(result.apart), shown: result.shown,
      digest: result.digest(machine.scope))
  }

  /// The peer hears that there is no answer; the file is looked after elsewhere.
  private func couldNotAccount(_ error: StoreError) async {
    await owner?.couldNotAccount(error, to: machine.peer?.name ?? "a peer")
    await feed(.accounted(.nothing(.failed)))
  }

  private var wantsAccount: Bool { !isClosed && !machine.wantsOtherAccount }

  var told: StoreActor.Told {
    { [weak owner] result, position in await owner?.folded(result, position) }
  }
}
