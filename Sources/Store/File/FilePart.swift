/// A part of a replica that keeps in memory what is in the file.
///
/// `Origins` has read the frontier. A transaction raises it in the file and in memory, and then is
/// rolled back: the file is as before, and the memory is not. So each part joins the `ReplicaFile`,
/// which tells it what becomes of a transaction. A part implements what concerns it.
protocol FilePart: AnyObject {
  /// A transaction is about to begin; it does not have the write lock yet.
  func begin()
  /// It has the write lock: from now on nobody else changes the file.
  func locked() throws
  /// It is about to be committed: what is yet to be written goes in now.
  func save() throws
  /// It was committed.
  func committed()
  /// It was rolled back: what was known of it goes. Nothing can be read yet.
  func rolledBack()
  /// The file is read again after that.
  func reload() throws
}

extension FilePart {
  func begin() {}
  func locked() throws {}
  func save() throws {}
  func committed() {}
  func rolledBack() {}
  func reload() throws {}
}
