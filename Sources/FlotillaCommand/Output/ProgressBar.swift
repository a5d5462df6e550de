import Flotilla
import Synchronization

/// A bar on the last line of a terminal; elsewhere nothing is drawn.
final class ProgressBar: Sendable {
  private let output: Output
  /// The last text drawn, so that a bar that looks the same is not drawn again.
  private let drawn = Mutex("")

  init(_ output: Output) { self.output = output }

  /// Draws how far a copy has come.
  func show(rows: Int, of total: Int, bytes count: Int) {
    let share = total > 0 ? min(1, max(0, Double(rows) / Double(total))) : 0
    draw(Self.text(share: share, note: "\(counted(rows, "row")), \(bytes(count))"))
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
