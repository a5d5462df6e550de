import Flotilla
import Foundation
import Glibc

/// Ends with a message.
func end(_ status: Int32, _ text: String) -> Never {
  FileHandle.standardError.write(Data("\(text)\n".utf8))
  exit(status)
}

// As the program that is installed.
ProcessMemory.keepSmall()
let words = Array(CommandLine.arguments.dropFirst())
if words.first == "role", words.count > 1 {
  guard let role = Role(rawValue: words[1]) else { end(2, Options.usage) }
  do {
    try role.run(Array(words.dropFirst(2)))
    exit(0)
  } catch {
    end(1, "\(error)")
  }
}
let signals = Leftovers.watch()
do {
  let options = try Options(words, known: Bench.measurements.map(\.name))
  let isWhole = try Bench(options).run()
  withExtendedLifetime(signals) {}
  exit(isWhole ? 0 : 1)
} catch let misuse as Options.Misuse {
  end(2, "\(misuse.description)\n\(Options.usage)")
} catch {
  end(1, "\(error)")
}
