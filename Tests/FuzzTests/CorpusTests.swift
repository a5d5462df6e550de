import Foundation
import Testing

/// What fuzzing has found worth keeping, and what it once tripped over: none of it does harm.
@Suite(.serialized) struct CorpusTests {
  static let corpus = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "../Fixtures/Corpus").standardized

  static func inputs(_ target: FuzzTarget) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(
      at: corpus.appending(path: target.rawValue), includingPropertiesForKeys: nil
    ).sorted { $0.path < $1.path }
  }

  @Test(arguments: FuzzTarget.allCases)
  func `every input of the corpus is taken`(_ target: FuzzTarget) throws {
    let inputs = try Self.inputs(target)
    #expect(!inputs.isEmpty)
    for input in inputs { target.read([UInt8](try Data(contentsOf: input))) }
  }

  @Test(arguments: FuzzTarget.allCases)
  func `every seed is taken, and so is its first half`(_ target: FuzzTarget) {
    for seed in target.seeds {
      target.read(seed)
      target.read(Array(seed.prefix(seed.count / 2)))
    }
  }

  /// Old seeds would be refused at once where the format of the bytes has changed since.
  @Test(arguments: FuzzTarget.allCases)
  func `the corpus holds the seeds of today`(_ target: FuzzTarget) throws {
    let writes = ProcessInfo.processInfo.environment["FLOTILLA_WRITE_SEEDS"] != nil
    for (number, seed) in target.seeds.enumerated() {
      let file = Self.corpus.appending(path: "\(target.rawValue)/seed-\(number)")
      if writes { try Data(seed).write(to: file) }
      #expect(try Data(contentsOf: file) == Data(seed), "see docs/fuzzing.md")
    }
  }
}
