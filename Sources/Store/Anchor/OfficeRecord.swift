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
  /// How far the work has come that a change of the office brings; nil if none is under way, or
  /// rows are to be certified from the start.
  var work: Work?

  /// A walk through rows, a slice at a time.
  struct Work {
    var task: Task
    /// Nil at the start.
    var after: VersionTable.Place?
  }

  /// What is done with the rows; the numbers are those on disk.
  enum Task: UInt8 {
    /// Who takes office certifies them. The last step.
    case certifying = 1
    /// Who takes office puts what is parked among what waits. Next: forgetting.
    case holding = 2
    /// Who takes office forgets what was written over. Next: certifying.
    case forgetting = 3
    /// Who does not judge shows what waited to be judged. Next: dissolving, if nobody judges.
    case unveiling = 4
    /// Where nobody judges, what waits is given up.
    case dissolving = 5
  }

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
    writer.byte(work?.task.rawValue ?? 0)
    if let work {
      writer.int(work.after?.table ?? -1)
      writer.blob(work.after?.key.bytes ?? [])
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
    guard let task = Task(rawValue: try reader.byte("office")) else { return }
    let table = try reader.int("office")
    let key = Key(bytes: try reader.blob("office", limit: Limits.row))
    work = Work(task: task, after: table < 0 ? nil : (table, key))
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
