import Foundation
import Testing

/// Code on the page of the library is code that is compiled.
@Suite struct `The page of the library` {
  private static let top = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: top.appending(path: path), encoding: .utf8)
  }

  @Test func `shows code of the example, or of these tests`() throws {
    let compiled = try [
      "Examples/CheckList/CheckList.swift", "Tests/RowsTests/Move.swift",
    ].map(Self.text)
    let blocks = try Self.text("docs/library.md").components(separatedBy: "```swift\n").dropFirst()
      .compactMap { $0.components(separatedBy: "```").first }
    #expect(blocks.count > 3)
    for block in blocks {
      let code = block.replacing("import Flotilla\n\n", with: "")
      #expect(compiled.contains { $0.contains(code) }, "\(code)")
    }
  }

  @Test(arguments: 1...4)
  func `has a tutorial whose steps compile`(step: Int) throws {
    let code = "docs/Flotilla.docc/Resources/CheckList-\(step).swift"
    let (status, said) = try Self.check(Self.top.appending(path: code).path)
    #expect(status == 0, "\(said)")
    #expect(try Self.text("docs/Flotilla.docc/CheckList.tutorial").contains("-\(step).swift"))
  }

  @Test func `would notice a step that does not`() throws {
    let path = NSTemporaryDirectory() + "step-\(UUID().uuidString).swift"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let last = try Self.text("docs/Flotilla.docc/Resources/CheckList-4.swift")
    try last.replacing("replica.observe(", with: "replica.watch(")
      .write(toFile: path, atomically: true, encoding: .utf8)
    #expect(try Self.check(path).status != 0)
  }

  /// Looks at a file as the compiler does, beside the modules of this build.
  private static func check(_ file: String) throws -> (status: Int32, said: String) {
    let modules = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: "Modules").path
    let sources = try FileManager.default.contentsOfDirectory(
      atPath: top.appending(path: "Sources").path)
    let headers = sources.filter { $0.hasPrefix("C") }
      .flatMap { ["Sources/\($0)", "Sources/\($0)/include"] }
      .flatMap { ["-I", top.appending(path: $0).path] }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      ["swiftc", "-typecheck", "-swift-version", "6", "-I", modules] + headers + [file]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let said = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: said, as: UTF8.self))
  }
}
