import Flotilla
import Testing

@testable import FlotillaCommand

@Suite struct `A schema that is compared` {
  private static let adoption = """
    {"node":"ward-1","is_made":false,
    "statements":[
    {"kind":"column","name":"ward","table":"patient","sql":"ALTER TABLE patient ADD COLUMN ward"},
    {"kind":"table","name":"visit","table":"visit","sql":"CREATE TABLE visit(\\n  id\\u001b)"}],
    "differences":[
    {"kind":"column","name":"name","table":"patient","what":"is declared otherwise at ward-1",
    "remedy":"Make here the migration that made it there."},
    {"kind":"number","name":"user_version","table":"","what":"is 7 at ward-1 and 5 here"},
    {"kind":"view","name":"w","table":"w","what":"is a table here"}]}
    """

  @Test func `is shown statement by statement`() throws {
    var adoption: SchemaReport.Adoption = try report(Self.adoption)
    let rest = """
      not added:
        column name of patient is declared otherwise at ward-1
          Make here the migration that made it there.
        user_version is 7 at ward-1 and 5 here
        view w is a table here
      """
    let statements = """
        ALTER TABLE patient ADD COLUMN ward;
        CREATE TABLE visit(
          id\\u{1b});
      """
    #expect(
      Schema.text(adoption, adopting: "flotilla schema DB --adopt ward-1")
        == "2 statements would add what ward-1 has:\n" + statements
        + "\nto carry out: flotilla schema DB --adopt ward-1\n" + rest)
    adoption.is_made = true
    #expect(
      Schema.text(adoption, adopting: "") == "added, as at ward-1:\n" + statements + "\n" + rest)
    (adoption.statements, adoption.differences) = ([], [])
    #expect(Schema.text(adoption, adopting: "") == "the schema is that of ward-1")
  }
}
