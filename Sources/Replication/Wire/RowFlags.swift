/// What follows in an encoded row.
struct RowFlags: OptionSet {
  let rawValue: UInt8

  /// Deleted: the key alone.
  static let deleted = RowFlags(rawValue: 1)
  /// This very version made the row.
  static let createdHere = RowFlags(rawValue: 2)
  /// Larger than may travel: the key alone.
  static let withheld = RowFlags(rawValue: 4)
  /// An anchor had to do with it, or its author had seen edits of others.
  static let standing = RowFlags(rawValue: 8)
  /// A ruling: the key alone.
  static let ruling = RowFlags(rawValue: 16)
  /// Something is said of keys that may be given twice.
  static let references = RowFlags(rawValue: 32)

  static let keyOnly: RowFlags = [.deleted, .withheld, .ruling]
  static let all: RowFlags = [
    .deleted, .createdHere, .withheld, .standing, .ruling, .references,
  ]

  /// Whether such a row can be: at most one reason for a key alone.
  var isPossible: Bool {
    isSubset(of: .all) && intersection(.keyOnly).rawValue.nonzeroBitCount <= 1
  }
}

/// The part of a version that most versions in a site without an anchor do not have.
struct Standing {
  struct Flags: OptionSet {
    let rawValue: UInt8

    static let term = Flags(rawValue: 1)
    static let certificate = Flags(rawValue: 2)
    static let session = Flags(rawValue: 4)
    static let context = Flags(rawValue: 8)
    static let undated = Flags(rawValue: 16)
    /// An epoch without a term.
    static let epoch = Flags(rawValue: 32)
    /// A reference of the row led nowhere at its author.
    static let dangling = Flags(rawValue: 64)
    /// Made anew by a migration of the key.
    static let image = Flags(rawValue: 128)
    static let all: Flags = [
      .term, .certificate, .session, .context, .undated, .epoch, .dangling, .image,
    ]

    /// An epoch comes once.
    var isPossible: Bool { !isEmpty && isSubset(of: .all) && !isSuperset(of: [.term, .epoch]) }
  }

  let version: Version
  let flags: Flags

  init(_ version: Version) {
    var flags: Flags = []
    if version.term != .none { flags.insert(.term) }
    if version.certificate != nil { flags.insert(.certificate) }
    if version.session != 0 { flags.insert(.session) }
    if !version.context.isEmpty { flags.insert(.context) }
    if version.isUndated { flags.insert(.undated) }
    if version.term == .none, version.epoch > 0 { flags.insert(.epoch) }
    if version.image != nil { flags.insert(.image) }
    if version.isDangling { flags.insert(.dangling) }
    (self.version, self.flags) = (version, flags)
  }
}
