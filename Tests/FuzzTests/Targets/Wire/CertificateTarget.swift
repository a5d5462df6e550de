import Replication

/// Rows with all that an anchor says of them: terms, epochs, certificates, contexts, rulings. They
/// are judged by every rule, and meet each other at somebody who is not the anchor.
///
/// Tables, origins and terms stand before the bytes, so that nearly all of them are versions.
func readCertificates(_ bytes: [UInt8]) {
  guard let batch = try? RowBatch(bytes: CertificateBatch.beginning + bytes) else { return }
  for row in batch.rows {
    let version = row.version
    demand(version.isTentative || version.term != .none, "a certificate of no anchor: \(version)")
    demand(version.context.dots.count <= RowContext.limit, "a long context: \(version)")
    var writer = RowBatchWriter()
    writer.add(batch.tables[row.table], version, row.content)
    let again = try? RowBatch(bytes: writer.bytes)
    demand(again?.rows.first?.version == version, "\(version) is read as another one")
    demand(again?.rows.first?.content == row.content, "\(row.content) is read as another one")
  }
  var dots: Set<Dot> = []
  let rows = batch.rows.filter { $0.content.ruling == nil && dots.insert($0.version.dot).inserted }
  let versions = rows.prefix(4).map(\.version)
  expectHighest(of: versions)
  for edit in versions {
    expectJudgement(of: edit, over: nil)
    for standing in versions where standing != edit { expectJudgement(of: edit, over: standing) }
  }
}

/// Whatever the order, the same version stands in the end, and it is the highest.
private func expectHighest(of versions: [Version]) {
  for office in [Office(), Office(term: CertificateBatch.terms[1], isHeld: true)] {
    let viewpoint = Viewpoint(
      own: CertificateBatch.origins[0], office: office,
      judged: Judged(term: office.term, frontier: Frontier([CertificateBatch.origins[1]: 4])))
    for order in [versions, versions.reversed()] {
      var standing: Version?
      for version in order {
        if case .gives = viewpoint.meeting(version, standing) { standing = version }
      }
      let highest = versions.max { $0.rank < $1.rank }
      demand(standing == highest, "\(order) leave \(String(describing: standing))")
    }
  }
}

/// Every rule has a verdict, and what the anchor then says outranks both and can be read.
private func expectJudgement(of edit: Version, over standing: Version?) {
  let versions = [edit] + (standing.map { [$0] } ?? [])
  let term = versions.map(\.term).reduce(CertificateBatch.terms[0], max)
  for (number, rule) in MergeRules.all.enumerated() {
    let claim = Claim(edit: edit, standing: standing, isOnline: number & 1 == 0)
    let judgement = Judgement(of: claim, under: rule, term: term, isDecided: number > 1)
    let winner = if case .rejected = judgement { standing ?? edit } else { edit }
    let epoch = Epoch.next(after: 0, over: [edit, standing])
    let certificate = winner.certified(
      Dot(CertificateBatch.origins[3], 1 << 62), term: term, epoch: epoch, at: edit.stamp)
    demand(certificate.edit == winner.edit, "\(certificate) certifies another edit")
    if epoch < Epoch.latest {
      demand(versions.allSatisfy { $0.rank < certificate.rank }, "\(certificate) is too low")
    }
    let isGone = certificate.hash == 0
    var writer = RowBatchWriter()
    writer.add(
      CertificateBatch.table, certificate,
      isGone ? .deleted(key: [.integer(1)]) : .values([.integer(1), .null]))
    demand((try? RowBatch(bytes: writer.bytes)) != nil, "nobody can read \(certificate)")
  }
}

/// What stands before the rows.
enum CertificateBatch {
  static let table = TableShape(name: "t", keyCount: 1, columns: ["id", "v"])
  static let origins = (1...4).map { Origin(rawValue: $0) }
  static let terms = (1...3).map { Term(number: $0, incarnation: 7) }

  static let beginning: [UInt8] = {
    var writer = ByteWriter()
    writer.uint(1)
    writer.text(table.name)
    writer.uint(table.keyCount)
    writer.uint(table.columns.count)
    for column in table.columns { writer.text(column) }
    writer.byte(KeyCollation.binary.rawValue)
    writer.uint(table.generation)
    writer.uint(origins.count)
    for origin in origins { writer.word(origin.rawValue) }
    writer.uint(terms.count)
    for term in terms { writer.term(term) }
    return writer.bytes
  }()
}
