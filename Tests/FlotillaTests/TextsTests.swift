import Foundation
import Testing

@testable import Flotilla

@Suite struct `Texts from files` {
  private func cause(of path: String) -> String {
    do {
      return try String(contentsOfFile: path, encoding: .utf8)
    } catch {
      return reason(of: error)
    }
  }

  @Test func `that cannot be read say why in words`() throws {
    let path = NSTemporaryDirectory() + "flotilla-text-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(cause(of: path) == "No such file or directory")
    #expect(cause(of: NSTemporaryDirectory()) == "Is a directory")
    try Data([0xFF, 0xFE, 0]).write(to: URL(filePath: path))
    #expect(cause(of: path) == "it is no text in UTF-8")
  }

  @Test func `lose what is blank around them, and names no line ends`() throws {
    #expect(" \t a b\r\n\n".trimmed == "a b")
    #expect("\n ".trimmed == "" && "".trimmed == "")
    #expect(try Replica.checkedName(" ward 1\t") == "ward 1")
    #expect(Replica.isName("Kräuter-Küche 2") && Replica.isName("病棟"))
    for name in ["--disown", "-h", " b", "b\u{FE0F}", "\u{AD}b", "b\u{202E}c", "b\u{E0041}"] {
      #expect(!Replica.isName(name), "\(name)")
    }
    #expect(!Replica.isName(String(repeating: "n", count: 129)))
    for name in ["ward\n", "\nward", "\u{0}ward", " ", ""] {
      #expect(throws: FlotillaError.self) { try Replica.checkedName(name) }
    }
  }
}
