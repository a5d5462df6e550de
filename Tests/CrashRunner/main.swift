import Glibc

do {
  exit(try Run(CommandLine.arguments.dropFirst()).run())
} catch {
  say("crash: \(error)")
  exit(2)
}
