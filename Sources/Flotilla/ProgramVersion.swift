/// Which Flotilla this is, as `flotilla --version` says it and members tell each other.
public enum ProgramVersion {
  /// At most 32 characters of ASCII without blanks: peers take no other.
  public static let current = "0.1.0"
}
