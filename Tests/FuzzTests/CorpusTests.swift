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
  func `every seed is taken, and so is its first half`(_ target: FuzzTarget) throws {
    for seed in target.seeds {
      target.read(seed)
      target.read(Array(seed.prefix(seed.count / 2)))
    }
    // For `scripts/fuzz.sh --seeds`.
    guard let folder = ProcessInfo.processInfo.environment["FLOTILLA_SEEDS"] else { return }
    let place = URL(filePath: folder).appending(path: target.rawValue)
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    for (number, seed) in target.seeds.enumerated() {
      try Data(seed).write(to: place.appending(path: "seed-\(number)"))
    }
  }
}
