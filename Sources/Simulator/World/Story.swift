/// What has happened in a schedule, in sentences for a person; off unless somebody wants to read.
package struct Story: Sendable {
  package let isTold: Bool
  package private(set) var lines: [String] = []
  var moment: Int64 = 0

  package init(isTold: Bool) { self.isTold = isTold }

  mutating func tell(_ line: @autoclosure () -> String) {
    guard isTold else { return }
    lines.append("\(moment) ms  \(line())")
  }
}
