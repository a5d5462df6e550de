import Replication
import SQLite

/// One of the two versions of a conflict, with its content.
package struct ConflictSide: Sendable {
  /// Who wrote it, or in whose file it stood without a version, and the edit.
  package var author: Origin?
  package var edit: Dot?
  /// Its first number: one that was made again is one conflict, whichever of them lost. Not kept.
  var first: Dot?
  package var stamp: Stamp?
  package var isDeleted: Bool
  /// Nothing tells when it was made: the stamp is the earliest that it can have been.
  package var isUndated = false
  /// Every column by name, the key columns first; of a deleted row the key alone.
  package var values: [(name: String, value: Replication.Value)]
  package var keyCount: Int

  init(_ version: Version?, _ entry: Shelf.Entry) {
    author = version?.edit.origin
    edit = version?.edit
    first = version?.first
    stamp = version?.stamp
    isDeleted = version?.isDeleted ?? false
    isUndated = version?.isUndated ?? false
    values = entry.values
    keyCount = entry.keyCount
  }

  /// What an application made without the right to, and which therefore is no version.
  init(refusedTo author: Origin, at moment: Int64, isDeleted: Bool, _ entry: Shelf.Entry) {
    self.author = author
    self.stamp = Stamp(millisecondsSince1970: moment)
    self.isDeleted = isDeleted
    self.values = entry.values
    self.keyCount = entry.keyCount
  }

  /// A row that stood in a file before anybody had made a version of it.
  init(foundBy author: Origin, _ entry: Shelf.Entry) {
    self.author = author
    self.isDeleted = false
    self.values = entry.values
    self.keyCount = entry.keyCount
  }

  /// Whether both are the same row, whoever made it and when.
  func showsTheSame(as other: ConflictSide) -> Bool {
    isDeleted == other.isDeleted && Shelf.encode(entry) == Shelf.encode(other.entry)
  }

  /// Whether this row says all that another one does, of which columns may have other names here.
  func says(
    all other: [(name: String, value: Replication.Value)], renamed: [String: String] = [:]
  ) -> Bool {
    !isDeleted
      && other.allSatisfy { name, value in
        let now = renamed[folded(name)] ?? name
        return values.contains { isSameName($0.name, now) && $0.value == value }
      }
  }

  var entry: Shelf.Entry { Shelf.Entry(why: .constraint, values: values, keyCount: keyCount) }

  /// As the log keeps it.
  var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.byte((isDeleted ? 1 : 0) | (isUndated ? 2 : 0))
    writer.word(author?.rawValue ?? 0)
    writer.uint(edit?.seq ?? 0)
    writer.uint(UInt64(stamp?.rawValue ?? 0))
    writer.raw(Shelf.encode(entry))
    return writer.bytes
  }

  /// Nil if the bytes are none.
  package init?(_ bytes: [UInt8]) {
    var reader = ByteReader(bytes)
    guard let flag = try? reader.byte("side"), let origin = try? reader.word("side"),
      let seq = try? reader.number("side"), let stamp = try? reader.stamp("side"),
      let entry = Shelf.decode(reader.rest(), .constraint)
    else { return nil }
    self.isDeleted = flag & 1 != 0
    self.isUndated = flag & 2 != 0
    self.author = origin == 0 ? nil : Origin(rawValue: origin)
    self.edit = seq == 0 ? nil : Dot(Origin(rawValue: origin), seq)
    self.stamp = origin == 0 || stamp == .zero ? nil : stamp
    self.values = entry.values
    self.keyCount = entry.keyCount
  }
}
