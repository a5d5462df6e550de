/// Writes a batch row by row, so that its size is known while it grows.
package struct RowBatchWriter: Sendable {
  private var shapes: [TableShape] = []
  private var shapeIndex: [TableShape: Int] = [:]
  /// Rows of one table mostly follow one another.
  private var last: (shape: TableShape, index: Int)?
  private var shapeBytes = 0
  private var origins: [Origin] = []
  private var originIndex: [Origin: Int] = [:]
  /// Most rows name the same one.
  private var lastOrigin: (origin: Origin, index: Int)?
  private var terms: [Term] = []
  private var body = ByteWriter()
  package private(set) var rowCount = 0
  package private(set) var check: UInt64 = 0

  package init() {}

  package var isEmpty: Bool { rowCount == 0 }
  /// The length of `bytes`, or a little more.
  package var size: Int {
    body.bytes.count + shapeBytes + origins.count * 8 + terms.count * 18 + 30
  }

  package mutating func add(_ shape: TableShape, _ version: Version, _ content: WireRow.Content) {
    let flags: RowFlags =
      switch content {
      case .values: []
      case .deleted: .deleted
      case .withheld: .withheld
      case .ruling: .ruling
      }
    add(shape, version, flags)
    if case .ruling(let ruling, _) = content {
      body.byte(ruling.kind.rawValue)
      write(ruling.edit)
      body.text(ruling.rule)
    }
    for value in content.values { body.value(value) }
  }

  /// The same of a whole row whose values are encoded.
  package mutating func add(_ shape: TableShape, _ version: Version, encoded values: [UInt8]) {
    add(shape, version, [])
    body.raw(values)
  }

  /// What comes before the values.
  private mutating func add(_ shape: TableShape, _ version: Version, _ given: RowFlags) {
    var flags = given
    let table = index(of: shape)
    let origin = index(of: version.dot.origin)
    let created = version.created == version.dot ? nil : index(of: version.created.origin)
    if created == nil { flags.insert(.createdHere) }
    let standing = version.hasParticulars ? Standing(version) : nil
    let isStanding = standing?.flags.isEmpty == false
    if isStanding { flags.insert(.standing) }
    if version.hasNumbering { flags.insert(.references) }
    body.uint(table)
    body.byte(flags.rawValue)
    body.uint(origin)
    body.uint(version.dot.seq)
    body.uint(UInt64(version.stamp.rawValue))
    body.word(version.hash)
    if let created {
      body.uint(created)
      body.uint(version.created.seq)
      body.int(version.stamp.rawValue - version.createdAt.rawValue)
    }
    if isStanding, let standing { write(standing) }
    if version.hasNumbering { write(version.numbering) }
    rowCount += 1
    check &+= version.check
  }

  /// What an anchor has to do with a version, and what its author had seen.
  private mutating func write(_ standing: Standing) {
    body.byte(standing.flags.rawValue)
    if standing.flags.contains(.term) {
      body.uint(index(of: standing.version.term))
      body.uint(standing.version.epoch)
    }
    if standing.flags.contains(.epoch) { body.uint(standing.version.epoch) }
    if let certificate = standing.version.certificate {
      write(certificate.edit)
      body.uint(UInt64(certificate.at.rawValue))
    }
    if standing.flags.contains(.session) { body.word(standing.version.session) }
    if let image = standing.version.image { write(image) }
    if standing.flags.contains(.context) {
      body.uint(standing.version.context.dots.count)
      for dot in standing.version.context.dots { write(dot) }
    }
  }

  private mutating func write(_ numbering: Numbering) {
    var writer = ByteWriter()
    numbering.write(to: &writer) { dot, writer in
      writer.uint(index(of: dot.origin))
      writer.uint(dot.seq)
    }
    body.raw(writer.bytes)
  }

  private mutating func write(_ dot: Dot) {
    body.uint(index(of: dot.origin))
    body.uint(dot.seq)
  }

  /// The batch as bytes.
  package var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.uint(shapes.count)
    for shape in shapes {
      writer.text(shape.name)
      writer.uint(shape.keyCount)
      writer.uint(shape.columns.count)
      for column in shape.columns { writer.text(column) }
      for (affinity, collation) in zip(shape.affinities, shape.collations) {
        writer.byte(KeyShape.byte(affinity, collation))
      }
      writer.uint(shape.generation)
    }
    writer.uint(origins.count)
    for origin in origins { writer.word(origin.rawValue) }
    writer.uint(terms.count)
    for term in terms { writer.term(term) }
    writer.uint(rowCount)
    writer.raw(body.bytes)
    return writer.bytes
  }

  private mutating func index(of shape: TableShape) -> Int {
    if let last, last.shape == shape { return last.index }
    if let index = shapeIndex[shape] {
      last = (shape, index)
      return index
    }
    shapes.append(shape)
    shapeIndex[shape] = shapes.count - 1
    last = (shape, shapes.count - 1)
    shapeBytes += shape.columns.reduce(shape.name.utf8.count + 12) { $0 + $1.utf8.count + 3 }
    shapeBytes += shape.keyCount + 4
    return shapes.count - 1
  }

  private mutating func index(of origin: Origin) -> Int {
    if let lastOrigin, lastOrigin.origin == origin { return lastOrigin.index }
    if let index = originIndex[origin] {
      lastOrigin = (origin, index)
      return index
    }
    origins.append(origin)
    originIndex[origin] = origins.count - 1
    return origins.count - 1
  }

  private mutating func index(of term: Term) -> Int {
    if let index = terms.firstIndex(of: term) { return index }
    terms.append(term)
    return terms.count - 1
  }
}
