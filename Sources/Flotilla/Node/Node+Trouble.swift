import Network
import Replication
import SQLite
import Store

/// A file that cannot be written for a while.
extension Node {
  /// So long `status` waits for a write lock that another program has, in ms.
  static let lockPatience = 500

  /// Notes what failed; false if the file is not to blame.
  @discardableResult
  func note(_ error: StoreError) -> Bool {
    if error.code == .putBack {
      beginAgain(error)
      return true
    }
    guard error.cause?.isOfFile == true else { return false }
    tell(.failed(FlotillaError(error, path: path).asTrouble(of: path)))
    return true
  }

  func tell(_ input: FileTrouble.Input) {
    guard let line = trouble.receive(input, at: .now) else { return }
    warn(line)
  }

  /// Waits until what failed may be tried again; false if it need not be: the session is gone, the
  /// node stops, or it runs for one command that rather fails.
  func rest(after error: StoreError, of session: Mesh.ConnectionID) async -> Bool {
    guard mode == .lasting, note(error) else { return false }
    trouble.wait()
    let peer = mesh.node(of: session)
    // Whatever the peer has told: this replica is not at its end, also while it tries again.
    peer.map { peers[$0]?.isHeldUp = true }
    defer { trouble.goOn() }
    // A moment at least, whatever else was tried meanwhile.
    let deadline = max(trouble.current?.nextTry ?? 0, Uptime.now + FileTrouble.shortest)
    _ = await until(deadline) { sessions[session] == nil }
    return !isStopping && sessions[session] != nil
  }

  /// What a session had to wait for has worked.
  func goOn(_ session: Mesh.ConnectionID) {
    mesh.node(of: session).map { peers[$0]?.isHeldUp = false }
  }

  /// Looks at the room on the disk: programs that find none there do not tell the node.
  private func lookAtRoom() {
    guard let room = DiskRoom.known(at: sidecar.database) else { return }
    if room < (trouble.isScarce ? DiskRoom.enough : DiskRoom.least) {
      tell(.scarce(DiskRoom.shortage(room, of: path)))
    } else if trouble.isScarce {
      tell(.roomy)
    }
  }

  /// Looks at the disk and the permissions, and tries again what nobody else is about to try.
  func examineFile() async {
    lookAtRoom()
    WriteAccess.follow(sidecar.database)
    if let denial = WriteAccess.denial(sidecar.database, path: path) {
      return tell(.denied(denial))
    }
    tell(.allowed)
    guard trouble.isTryDue(at: .now) else { return }
    do {
      try await store.patiently { (store) throws(StoreError) in try store.file.tryWriting() }
      tell(.worked)
    } catch {
      note(error)
    }
  }

  /// What `status` shows: what is known, or what a look shows.
  func troubleReport() async -> TroubleReport? {
    lookAtRoom()
    if let denial = WriteAccess.denial(sidecar.database, path: path) { tell(.denied(denial)) }
    if trouble.current == nil, LockHolder(writing: sidecar.database) != nil {
      let database = sidecar.database
      do {
        try await offPool { [path] () throws(FlotillaError) in
          try reporting(path) { () throws(StoreError) in
            try ReplicaFile.tryWriting(path: database, patience: Self.lockPatience)
          }
        }
      } catch {
        if error.code == .locked { tell(.failed(error.asTrouble(of: path))) }
      }
    }
    return trouble.told.map {
      TroubleReport(
        kind: $0.kind.rawValue, since: Self.text($0.since), text: $0.error.message,
        remedy: $0.error.remedy)
    }
  }
}
