import Foundation
import Testing

/// The blocks of a page that show a console: a line that begins with `$` is typed, what follows it
/// is in what it says. Commands of one page share a shell.
private struct Console {
  struct Step {
    let command: String
    var said: [String] = []
  }

  let steps: [Step]

  init(_ page: String) {
    var steps: [Step] = []
    var isInside = false
    for line in page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
      if line.hasPrefix("```") {
        isInside = line == "```console"
      } else if isInside, line.hasPrefix("$ ") {
        steps.append(Step(command: String(line.dropFirst(2))))
      } else if isInside, !steps.isEmpty {
        steps[steps.count - 1].said.append(line)
      }
    }
    self.steps = steps
  }

  /// A script that ends with the first command that fails, and marks what each of them says.
  var script: String {
    "exec 2>&1\n"
      + steps.enumerated().map { number, step in
        // Later, by more than nodes on a busy machine differ about the time of the site.
        let pause = step.command.contains("'D'") ? "sleep 1; " : ""
        return "echo '== \(number)'\n{ \(pause)\(step.command)\n} || exit 1\n"
      }
      .joined() + "echo '== end'\n"
  }
}

@Suite struct `The tour` {
  @Test func `can be typed as it is`() throws {
    let page = try String(
      contentsOfFile: `The unit of a database`.top + "/docs/tour.md", encoding: .utf8)
    let folder = try Folder()
    defer { folder.remove() }
    // Ports of their own, for other tests may have those of the page.
    var script = Console(page).script
    for port in ["7391", "7392"] {
      script = script.replacingOccurrences(of: port, with: try freePort())
    }
    defer {
      for name in ["bag", "ward"] {
        _ = try? folder.run(
          "/bin/sh", ["-c", "flotilla stop flotilla-tour/\(name).db 2>/dev/null; true"])
      }
    }
    let said = try folder.run("/bin/bash", ["-c", script])
    let parts = said.split(separator: /(?m)^== .*\n/, omittingEmptySubsequences: false).dropFirst()
    let steps = Console(page).steps
    #expect(steps.count > 20)
    try #require(parts.count == steps.count + 1, "\(said)")
    for (step, part) in zip(steps, parts) {
      for line in step.said { #expect(part.contains(line), "\(step.command): \(part)") }
    }
  }
}

/// A port that nobody has at present.
func freePort() throws -> String {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  defer { close(descriptor) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  let code = withUnsafeMutablePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
    }
  }
  try #require(code == 0)
  return String(UInt16(bigEndian: address.sin_port))
}
