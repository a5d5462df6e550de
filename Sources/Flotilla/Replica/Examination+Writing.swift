import Store

/// Whether the file can be written at present.
extension Examination {
  /// So long the write lock is waited for, in ms.
  private static let patience = 2_000

  /// Looks for itself, whether a node runs or not.
  mutating func checkWriting(_ sidecar: Sidecar) async {
    do throws(FlotillaError) {
      let (path, database) = (path, sidecar.database)
      if let denial = WriteAccess.denial(database, path: path) { throw denial }
      try await offPool { () throws(FlotillaError) in
        try reporting(path) { () throws(StoreError) in
          try ReplicaFile.tryWriting(path: database, patience: Self.patience)
        }
      }
    } catch {
      let error = error.asTrouble(of: path)
      add("writing", .error, error.message, error.remedy)
    }
  }

  /// What the running node says keeps it from its file, unless that was found already.
  mutating func judge(_ trouble: TroubleReport?) {
    let isFound = report.findings.contains { $0.check == "writing" }
    guard !isFound else { return }
    // Of the room on the disk another check tells.
    guard let trouble, trouble.kind != FileTrouble.Kind.diskLow.rawValue else {
      return add("writing", .ok, "the file can be written")
    }
    add("writing", .error, "\(trouble.text), since \(trouble.since)", trouble.remedy)
  }
}
