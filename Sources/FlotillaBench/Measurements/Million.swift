/// A database of a million rows: made a replica, asked for its state, copied to newcomers, and
/// found equal when a member comes back. With `--long` one of ten million, row for row beside it.
enum Million {
  static let measurement = Measurement(
    name: "million", summary: "init, status, join and reconnect at 1,000,000 rows", body: measure)

  private static func measure(_ extent: Extent, _ report: inout Report) throws {
    let rows = extent.isQuick ? 20_000 : 1_000_000
    let site = try LargeSite(rows: rows)
    try site.measure(rounds: extent.isQuick ? 1 : 3)
    report.figures = figures(site.ledger, rows)
    lines(rows, &report)
    if site.ledger.values[.rsync] == nil {
      report.notes.append("sqlite3_rsync is not installed: not beside the joins")
    }
    guard extent == .long else { return }
    let large = try LargeSite(rows: rows * 10)
    try large.measure(rounds: 1)
    report.figures += figures(large.ledger, rows * 10)
    report.figures += growth(site.ledger, large.ledger)
  }

  private static func name(_ quantity: LargeSite.Quantity, _ rows: Int) -> String {
    "\(Report.grouped(Double(rows))) rows: \(quantity.rawValue)"
  }

  private static func figures(_ ledger: LargeSite.Ledger, _ rows: Int) -> [Figure] {
    LargeSite.Quantity.allCases.compactMap { quantity in
      guard let values = ledger.values[quantity] else { return nil }
      let figure = Figure(name(quantity, rows), quantity.unit, values)
      guard let (statistic, limit) = quantity.wanted, rows <= 1_000_000 else { return figure }
      return figure.target(statistic, atMost: limit)
    } + ratios(ledger, rows)
  }

  /// Each to the partner of its own round.
  private static func ratios(_ ledger: LargeSite.Ledger, _ rows: Int) -> [Figure] {
    let pairs: [(LargeSite.Quantity, LargeSite.Quantity, Double?)] = [
      (.pages, .copied, 3.5), (.byRows, .copied, 25), (.pages, .rsync, nil),
    ]
    return pairs.compactMap { quantity, partner, limit in
      guard let own = ledger.values[quantity], let theirs = ledger.values[partner] else {
        return nil
      }
      let figure = Figure(
        ratio(quantity, partner, rows), "×", zip(own, theirs).map { $0 / $1 })
      return limit.map { figure.target(.median, atMost: $0) } ?? figure
    }
  }

  private static func ratio(
    _ quantity: LargeSite.Quantity, _ partner: LargeSite.Quantity, _ rows: Int
  ) -> String {
    "\(name(quantity, rows)), against \(partner.rawValue)"
  }

  /// What ten times as many rows cost, for each of them; or at all, where rows should not matter.
  private static func growth(_ one: LargeSite.Ledger, _ ten: LargeSite.Ledger) -> [Figure] {
    let quantities: [(LargeSite.Quantity, Double)] = [
      (.initialised, 10), (.tracked, 10), (.pages, 10), (.byRows, 10), (.status, 1), (.equal, 1),
      (.changed, 1),
    ]
    return quantities.compactMap { quantity, factor in
      guard let before = one.values[quantity], let after = ten.values[quantity] else { return nil }
      let ratio = Samples(after).median / Samples(before).median / factor
      let what = factor > 1 ? "for each row" : "in all"
      return Figure("ten times as many rows, \(quantity.rawValue) \(what)", "×", ratio)
        .target(.median, atMost: 1.5)
    }
  }

  private static func lines(_ rows: Int, _ report: inout Report) {
    let count = Report.grouped(Double(rows))
    func line(_ what: String, _ quantity: LargeSite.Quantity, bound: String) {
      report.line("\(count) rows: \(what)", name(quantity, rows), bound: bound)
    }
    func joined(_ what: String, _ quantity: LargeSite.Quantity, bound: String) {
      report.line(
        "\(count) rows: \(what)", name(quantity, rows), partner: "cp and fsync of the file",
        beside: name(.copied, rows), ratio: ratio(quantity, .copied, rows), bound: bound)
    }
    joined("`join`, by pages", .pages, bound: "the copy is made, sent, hashed and checked")
    report.line(
      "the same beside sqlite3_rsync", name(.pages, rows), partner: "sqlite3_rsync",
      beside: name(.rsync, rows), ratio: ratio(.pages, .rsync, rows), bound: "as above")
    joined("`join`, by rows", .byRows, bound: "each row is merged, as one that comes later")
    line("peak memory of who joins by pages", .pagesMemory, bound: "pieces of 256 KiB on their way")
    line("a reconnect, nothing changed", .equal, bound: "TLS, and two questions and answers")
    line("a reconnect, 100 rows changed", .changed, bound: "the same, and a commit")
    line(
      "`init --all`, until each has a version", .initialised,
      bound: "each row is read, and a version written")
    line("`track`, likewise", .tracked, bound: "the same")
    report.line(
      "\(count) rows: `status`", name(.status, rows), partner: "the start of the program",
      beside: name(.version, rows), bound: "a question to the node, and its answer")
  }
}
