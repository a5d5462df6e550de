/// Which Flotilla this is, as `flotilla --version` says it and members tell each other.
public enum ProgramVersion {
  /// At most 32 characters of ASCII without blanks: peers take no other.
  public static let current = "0.1.0"

  /// That a node runs another one, `program`, than this command; nil if it is the same.
  static func difference(_ program: String?) -> String? {
    guard program != current else { return nil }
    return "the node runs \(program.map { "Flotilla \($0)" } ?? "an older Flotilla"), and this "
      + "command is \(current)"
  }

  /// The same with what to do about it, for the node of this database.
  static func remark(_ program: String?, _ path: String) -> String? {
    difference(program).map { "\($0): \(ProgramFile.restart(path))" }
  }
}
