extension MembersReport {
  /// Who is or was a member by this name, or by an id that begins like this; nil if nobody.
  ///
  /// Two of one name are told apart by a person: who is shut out is so for good.
  package func member(named name: String) throws(FlotillaError) -> Member? {
    let named = members.filter { $0.node == name }
    let found =
      named.isEmpty
      ? members.filter { name.count >= 8 && $0.id.hasPrefix(name.lowercased()) } : named
    guard found.count < 2 else {
      let all = found.map { "\($0.id) (\($0.state), since \($0.since))" }
      throw FlotillaError(
        .refused, "\(name) may be each of these: \(all.joined(separator: ", "))",
        remedy: "Give the id in the place of the name.")
    }
    return found.first
  }
}

extension MembersReport.Member {
  /// Whether it is none any more.
  package var isFormer: Bool { state == "revoked" || state == "left" }
}
