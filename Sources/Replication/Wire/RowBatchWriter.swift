/// Writes a batch row by row, so that its size is known while it grows.
package struct RowBatchWriter: Sendable {
  private var shapes: [TableShape] = []
  private var shapeIndex: [TableShape: Int] = [:]
  private var shapeBytes = 0
  private var origins: [Origin] = []
  private var originIndex: [Origin: Int] = [:]
  private var body = ByteWriter()
  package private(set) var rowCount = 0
  package private(set) var check: UInt64 = 0

  package init() {}

  package var isEmpty: Bool { rowCount == 0 }
  /// The length of `bytes`, or a little more.
  package var size: Int { body.bytes.count + shapeBytes + origins.count * 8 + 30 }

  package mutating func add(_ shape: TableShape, _ version: Version, _ content: WireRow.Content) {
    let table = index(of: shape)
    let origin = index(of: version.dot.origin)
    let created = version.created == version.dot ? nil : index(of: version.created.origin)
    var flags: UInt8 = created == nil ? 2 : 0
    let values: [Value]
    switch content {
    case .values(let all): values = all
    case .deleted(let key):
      flags |= 1
      values = key
    case .withheld(let key):
      flags |= 4
      values = key
    }
    body.uint(table)
    body.byte(flags)
    body.uint(origin)
    body.uint(version.dot.seq)
    body.uint(UInt64(version.stamp.rawValue))
    body.word(version.hash)
    if let created {
      body.uint(created)
      body.uint(version.created.seq)
    }
    for value in values { body.value(value) }
    rowCount += 1
    check &+= WireRow(table: table, version: version, content: content).check
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
      for collation in shape.collations { writer.byte(collation.rawValue) }
    }
    writer.uint(origins.count)
    for origin in origins { writer.word(origin.rawValue) }
    writer.uint(rowCount)
    writer.raw(body.bytes)
    return writer.bytes
  }

  private mutating func index(of shape: TableShape) -> Int {
    if let index = shapeIndex[shape] { return index }
    shapes.append(shape)
    shapeIndex[shape] = shapes.count - 1
    shapeBytes += shape.columns.reduce(shape.name.utf8.count + 12) { $0 + $1.utf8.count + 3 }
    shapeBytes += shape.keyCount
    return shapes.count - 1
  }

  private mutating func index(of origin: Origin) -> Int {
    if let index = originIndex[origin] { return index }
    origins.append(origin)
    originIndex[origin] = origins.count - 1
    return origins.count - 1
  }
}
