import Glibc
import Simulator

// Swift seeds its hashing anew in each process; schedules must run the same in all. And a tenth of
// the time of full ones goes by if small blocks of memory that are free are sorted and joined:
// "glibc.malloc.tcache_count … the maximum number of chunks of each size to cache" (glibc manual).
if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
  setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
  setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=4000:glibc.malloc.tcache_max=8192", 0)
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
if request.jobs > 1 { exit(Parallel.run(request)) }
exit(request.task == .laws ? Laws.run(request) : Serial.run(request))
