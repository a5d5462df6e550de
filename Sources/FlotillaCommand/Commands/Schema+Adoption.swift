import Flotilla

extension Schema {
  /// Statement by statement what is, or would be, added; then what differs otherwise.
  static func text(_ adoption: SchemaReport.Adoption, _ call: Call) -> String {
    let node = shellWord(adoption.node)
    return text(
      adoption, adopting: "flotilla schema \(shellWord(call.path)) --adopt \(node)")
  }

  static func text(_ adoption: SchemaReport.Adoption, adopting command: String) -> String {
    let (node, statements) = (printable(adoption.node), adoption.statements)
    var lines: [String] = []
    if !statements.isEmpty {
      let count = counted(statements.count, "statement")
      lines.append(
        adoption.is_made ? "added, as at \(node):" : "\(count) would add what \(node) has:")
      for statement in statements {
        let text = statement.sql.split(separator: "\n").map { "  " + printable(String($0)) }
        lines.append(text.joined(separator: "\n") + ";")
      }
      if !adoption.is_made { lines.append("to carry out: \(command)") }
    }
    if !adoption.differences.isEmpty {
      lines.append("not added:")
      for difference in adoption.differences {
        lines.append("  \(printable(name(of: difference))) \(printable(difference.what))")
        if let remedy = difference.remedy { lines.append("    " + printable(remedy)) }
      }
    }
    if let missing = adoption.missing, !missing.isEmpty {
      lines.append(
        "replicated here, and not at \(node): " + missing.map(printable).joined(separator: ", "))
    }
    return lines.isEmpty
      ? "the schema is that of \(node)" : lines.joined(separator: "\n")
  }

  private static func name(of difference: SchemaReport.Adoption.Difference) -> String {
    switch difference.kind {
    case "number", "book": difference.name
    case "table", "view": "\(difference.kind) \(difference.name)"
    default: "\(difference.kind) \(difference.name) of \(difference.table)"
    }
  }
}
