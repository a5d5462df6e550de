import Flotilla
import Synchronization

/// A bar on the last line of a terminal; elsewhere nothing is drawn.
final class ProgressBar: Sendable {
  private let output: Output
  /// The last text drawn, so that a bar that looks the same is not drawn again.
  private let drawn = Mutex("")
  private let begun = Mutex<Beginning?>(nil)

  /// Where and when a work began, or was seen first.
  private struct Beginning {
    var work: WorkProgress.Work
    var rows: Int
    var at: ContinuousClock.Instant
  }

  init(_ output: Output) { self.output = output }

  /// Draws how far a copy has come, or what changed while it came; the note tells one bar from the
  /// next.
  func show(rows: Int, of total: Int, bytes count: Int, note: String = "") {
    let share = total > 0 ? min(1, max(0, Double(rows) / Double(total))) : 0
    draw(Self.text(share: share, note: "\(counted(rows, "row"))\(note), \(sized(count))"))
  }

  /// Draws how far a work has come, and how long it will take.
  func show(_ progress: WorkProgress) {
    let share = progress.of > 0 ? Double(progress.rows) / Double(progress.of) : 0
    switch progress.work {
    case .comparing: draw("comparing with other nodes")
    case .takingIn, .looking, .exchanging, .settling:
      let start = begun.withLock { begun in
        // What begins again, begins to count anew.
        if begun?.work != progress.work || progress.rows < begun?.rows ?? 0 {
          begun = Beginning(work: progress.work, rows: progress.rows, at: .now)
        }
        return begun
      }
      draw(Self.text(share: share, note: Self.note(progress, since: start)))
    }
  }

  private static func note(_ progress: WorkProgress, since start: Beginning?) -> String {
    let done = "\(thousands(progress.rows)) of \(counted(progress.of, "row"))\(progress.work.note)"
    guard let start, progress.rows > start.rows else { return done }
    let took = start.at.duration(to: .now)
    let seconds = Double(took.components.seconds) + Double(took.components.attoseconds) / 1e18
    // What the first moment says of the rest is no use.
    guard seconds > 0.5 else { return done }
    let left = seconds * Double(progress.of - progress.rows) / Double(progress.rows - start.rows)
    return "\(done), \(span(left.rounded())) left"
  }

  /// Takes the bar away.
  func clear() { draw("") }

  private func draw(_ text: String) {
    drawn.withLock { last in
      if last == text { return }
      last = text
      output.redraw(text)
    }
  }

  /// The bar of 24 columns, the share in hundredths and a note.
  static func text(share: Double, note: String) -> String {
    let full = Int(share * 24)
    let bar = String(repeating: "█", count: full) + String(repeating: "░", count: 24 - full)
    let hundredths = padded(String(Int(share * 100)), to: 3, leading: true)
    return "\(bar) \(hundredths)% \(note)"
  }
}

extension WorkProgress.Work {
  /// What a bar says of it: one command may draw several bars.
  fileprivate var note: String {
    switch self {
    case .takingIn: " taken in"
    case .looking: " looked at"
    case .exchanging: " exchanged"
    case .settling: " settled"
    case .comparing: ""
    }
  }
}
