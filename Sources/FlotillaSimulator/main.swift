import Glibc
import Simulator

// Swift seeds its hashing anew in each process; schedules must run the same in all.
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
  setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
  // A process that only ever runs schedules keeps what it has freed, on large pages (jemalloc(3)).
  // The files of the laws are large and many sizes: kept, they would grow to half a gigabyte.
  if CommandLine.arguments.dropFirst().first != "laws" {
    setenv("MALLOC_CONF", "dirty_decay_ms:-1,muzzy_decay_ms:-1,tcache_max:131072,thp:always", 0)
  }
  execv("/proc/self/exe", CommandLine.unsafeArgv)
}

SingleThread.begin()

let request: Request
do {
  request = try Request(Array(CommandLine.arguments.dropFirst()))
} catch {
  print("\(error)\n\(Request.usage)")
  exit(2)
}
if request.jobs > 1 || request.count > Parallel.most { exit(Parallel.run(request)) }
switch request.task {
case .laws: exit(Laws.run(request))
case .schemas: exit(Schemas.run(request))
case .schedules: exit(Serial.run(request))
}
