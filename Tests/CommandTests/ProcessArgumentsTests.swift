import Foundation
import Testing

@testable import FlotillaCommand

@Suite struct `Arguments of the process` {
  @Test(arguments: [
    ("flotilla\0run\0a b.db\0", ["flotilla", "run", "a b.db"]),
    ("flotilla\0sql\0\0é\0", ["flotilla", "sql", "", "é"]),
    ("", []),
  ])
  func `are what the kernel keeps, each with a null byte at its end`(line: String, words: [String])
  {
    #expect(ProcessArguments.split(Data(line.utf8)) == words)
  }
}
