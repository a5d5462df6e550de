import Replication
import SQLite

/// Who judges, and how far this replica has come with that, as it is kept on disk.
struct OfficeRecord: Equatable {
  var office = Office()
  /// The highest epoch that this replica has given.
  var epoch: UInt64 = 0
  /// Whether the rows of lower terms are certified again on taking office.
  var certifiesAll = false
  /// Members that were appointed before and must have stood down first.
  var awaited: [Governance.Predecessor] = []
  /// Up to where rows were certified on taking office.
  var cursor: (table: Int64, key: Key)?

  static func == (left: OfficeRecord, right: OfficeRecord) -> Bool { left.bytes == right.bytes }

  var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.term(office.term)
    writer.byte(office.isHeld ? 1 : 0)
    writer.byte(office.part.number)
    writer.uint(epoch)
    writer.byte(certifiesAll ? 1 : 0)
    writer.uint(awaited.count)
    for awaited in awaited {
      writer.identity(awaited.node)
      writer.term(awaited.term)
    }
    writer.byte(cursor == nil ? 0 : 1)
    if let cursor {
      writer.int(cursor.table)
      writer.blob(cursor.key.bytes)
    }
    return writer.bytes
  }

  init() {}

  init(_ bytes: [UInt8]) throws(WireError) {
    var reader = ByteReader(bytes)
    office.term = try reader.term("office")
    office.isHeld = try reader.byte("office") == 1
    office.part = Office.Part(number: try reader.byte("office")) ?? .none
    epoch = try reader.number("office")
    certifiesAll = try reader.byte("office") == 1
    for _ in 0..<(try reader.count("office", limit: Limits.members)) {
      awaited.append(
        Governance.Predecessor(
          node: try reader.identity("office"), term: try reader.term("office")))
    }
    guard try reader.byte("office") == 1 else { return }
    cursor = (try reader.int("office"), Key(bytes: try reader.blob("office", limit: Limits.row)))
  }
}

extension Office.Part {
  fileprivate var number: UInt8 {
    switch self {
    case .none: 0
    case .waiting: 1
    case .taking: 2
    case .judging: 3
    }
  }

  fileprivate init?(number: UInt8) {
    switch number {
    case 0: self = .none
    case 1: self = .waiting
    case 2: self = .taking
    case 3: self = .judging
    default: return nil
    }
  }
}

extension Judged {
  /// As a replica keeps it.
  var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.term(term)
    writer.frontier(frontier)
    return writer.bytes
  }

  init(_ bytes: [UInt8]) throws(WireError) {
    var reader = ByteReader(bytes)
    let term = try reader.term("judged")
    self.init(term: term, frontier: try reader.frontier("judged"))
  }
}
