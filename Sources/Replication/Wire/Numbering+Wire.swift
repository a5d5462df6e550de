extension Numbering {
  /// Which of its parts follow.
  struct Parts: OptionSet {
    let rawValue: UInt8

    static let turn = Parts(rawValue: 1)
    static let elders = Parts(rawValue: 2)
    /// Parents without the times when they were made, as files before had them.
    static let undatedParents = Parts(rawValue: 4)
    static let former = Parts(rawValue: 8)
    static let parents = Parts(rawValue: 16)
    static let all: Parts = [.turn, .elders, .undatedParents, .former, .parents]

    /// Who has elders has a turn.
    var isPossible: Bool {
      !isEmpty && isSubset(of: .all) && (contains(.turn) || !contains(.elders))
    }
  }

  var parts: Parts {
    var parts: Parts = []
    if turn != nil { parts.insert(.turn) }
    if !elders.isEmpty { parts.insert(.elders) }
    if !parents.isEmpty { parts.insert(.parents) }
    if !former.isEmpty { parts.insert(.former) }
    return parts
  }

  /// Writes it; how a dot is written is the caller's affair.
  package func write<Failure: Error>(
    to writer: inout ByteWriter, dot: (Dot, inout ByteWriter) throws(Failure) -> Void
  ) throws(Failure) {
    writer.byte(parts.rawValue)
    if let turn { writer.uint(UInt64(turn.rawValue)) }
    if !elders.isEmpty {
      writer.uint(elders.count)
      for elder in elders {
        try dot(elder.dot, &writer)
        writer.uint(UInt64(elder.at.rawValue))
      }
    }
    if !parents.isEmpty {
      writer.uint(parents.count)
      for parent in parents {
        writer.uint(UInt64(parent.link))
        try dot(parent.row, &writer)
        writer.uint(UInt64(parent.made.at.rawValue))
      }
    }
    if !former.isEmpty {
      writer.uint(former.count)
      for former in former {
        try dot(former.created, &writer)
        try dot(former.edit, &writer)
        writer.blob(former.key.bytes)
      }
    }
  }

  /// Reads it. A dot whose origin is unknown is left out with what it belongs to.
  package init(
    from reader: inout ByteReader, dot: (inout ByteReader) throws(WireError) -> Dot?
  ) throws(WireError) {
    self.init()
    let parts = Parts(rawValue: try reader.byte("Row: references"))
    guard parts.isPossible else { throw WireError(.malformed, "Row: references") }
    if parts.contains(.turn) { turn = try reader.stamp("Row: turn") }
    if parts.contains(.elders) {
      for _ in 0..<(try reader.count("Row: elders", limit: Self.mostElders)) {
        let (made, at) = (try dot(&reader), try reader.stamp("Row: elder"))
        if let made { elders.append(Creation(at: at, dot: made)) }
      }
    }
    if parts.contains(.parents) || parts.contains(.undatedParents) {
      for _ in 0..<(try reader.count("Row: parents", limit: Self.mostParents)) {
        let link = UInt32(exactly: try reader.uint("Row: parents"))
        guard let link else { throw WireError(.malformed, "Row: parents") }
        let row = try dot(&reader)
        let at = parts.contains(.parents) ? try reader.stamp("Row: parent") : .zero
        if let row { parents.append(ParentRow(link: link, made: Creation(at: at, dot: row))) }
      }
    }
    if parts.contains(.former) {
      for _ in 0..<(try reader.count("Row: former", limit: Self.mostFormer)) {
        let (created, edit) = (try dot(&reader), try dot(&reader))
        let key = Key(bytes: try reader.blob("Row: former", limit: Self.longestKey))
        guard key.values != nil else { throw WireError(.malformed, "Row: former") }
        if let created, let edit {
          former.append(FormerKey(key: key, created: created, edit: edit))
        }
      }
    }
  }
}
