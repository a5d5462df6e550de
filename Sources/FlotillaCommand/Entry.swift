import Flotilla
import FoundationEssentials
import Glibc

/// The executable `flotilla`.
@main
struct Entry {
  static func main() async {
    ProcessMemory.keepSmall()
    // A peer or a pipe that goes away is an error of one write, not the end of the program.
    signal(SIGPIPE, SIG_IGN)
    let words = Array(ProcessArguments.all.dropFirst())
    let status = await Program.flotilla.run(words, output: .standard)
    exit(Output.standard.end(status).rawValue)
  }
}
