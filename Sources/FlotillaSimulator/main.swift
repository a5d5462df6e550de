import Dispatch
import Glibc
import Simulator

/// What the command line asks for.
struct Request {
  var depth = Run.Depth.pure
  var first: UInt64 = 1
  var count: UInt64 = 1_000
  var steps: Int?
  var without: [Faults.Kind] = []
  var isTold = false
}

let usage = """
  usage: flotilla-simulator pure|full [--seed N] [--first N] [--seeds N] [--steps N]
           [--without KIND,…] [--tell]
  """

func complain(_ text: String) -> Never {
  print("\(text)\n\(usage)")
  exit(2)
}

func read(_ arguments: [String]) -> Request {
  var request = Request()
  var rest = arguments[...]
  guard let depth = rest.popFirst().flatMap(Run.Depth.init) else { complain("pure or full?") }
  request.depth = depth
  while let option = rest.popFirst() {
    if option == "--tell" {
      request.isTold = true
      continue
    }
    guard let value = rest.popFirst() else { complain("\(option) needs a value") }
    let number = UInt64(value)
    switch (option, number) {
    case ("--seed", let seed?): (request.first, request.count) = (seed, 1)
    case ("--first", let first?): request.first = first
    case ("--seeds", let count?): request.count = count
    case ("--steps", let steps?): request.steps = Int(steps)
    case ("--without", _):
      request.without = value.split(separator: ",").map { name in
        guard let kind = Faults.Kind.allCases.first(where: { "\($0)" == name }) else {
          complain("no kind of fault is called \(name)")
        }
        return kind
      }
    default: complain("\(option) \(value) is not understood")
    }
  }
  return request
}

let request = read(Array(CommandLine.arguments.dropFirst()))
let templates = Templates()
let start = DispatchTime.now().uptimeNanoseconds
var failures = 0
for seed in request.first..<request.first + request.count {
  var plan = Run.Plan(request.depth, seed: seed)
  plan.steps = request.steps
  plan.without = request.without
  let run = Run(plan, templates, isTold: request.isTold)
  for line in run.story { print(line) }
  guard !run.faults.isEmpty else { continue }
  failures += 1
  print("seed \(seed) (\(run.kinds)):")
  for fault in run.faults { print("  \(fault)") }
}
let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
print("\(request.count) schedules, \(failures) failed, \(Int(Double(request.count) / seconds)) a second")
exit(failures == 0 ? 0 : 1)
