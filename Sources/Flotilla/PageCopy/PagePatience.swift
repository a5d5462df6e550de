import Replication

/// How long a joiner bears with an inviter whose pages come slowly, over all tries of one command:
/// a pure machine.
///
/// An inviter that sends a byte a second could keep a joiner for ever. A link that is slow and
/// honest must do: 18 kB/s are enough, and time without a connection does not count. An honest
/// inviter demands more itself, for it gives a joiner 10 s for each 256 KiB.
struct PagePatience {
  /// In ms and bytes.
  struct Limits: Sendable {
    /// Without a byte for so long a connection is over.
    var silence: Int64 = 10_000
    /// So long the next message may take.
    var message: Int64 = 20_000
    /// So long a copy may be made, over all tries.
    var making: Int64 = 300_000
    /// In so much time of waiting `least` bytes of the file must have come, or its end.
    var window: Int64 = 60_000
    var least = 1 << 20
    /// So often the file may begin anew.
    var beginnings = 4
  }

  enum End: Equatable {
    /// This connection is over; what is here stays.
    case connection
    /// There is no use in pages of this inviter, for this reason.
    case pages(String)
  }

  private enum State: Equatable {
    /// No connection, or work of this side. Next: asking, receiving.
    case resting
    /// A message is awaited since then, and the file has not begun. Next: resting.
    case asking(Int64)
    /// The same in the midst of the file. Next: resting.
    case receiving(Int64)
  }

  private let limits: Limits
  private var state = State.resting
  private var hasBegun = false
  /// For how long the copy was being made.
  private var made: Int64 = 0
  /// For how long the bytes that are due now were awaited.
  private var spent: Int64 = 0
  private var beginnings = 0
  /// How much of the file is here, and how much was when the window began.
  private var (length, mark) = (0, 0)
  private var refusal: String?

  init(_ limits: Limits = Limits()) { self.limits = limits }

  /// A new connection: the file has not begun on it.
  mutating func connect() { (state, hasBegun) = (.resting, false) }

  /// The next message is awaited from now on.
  mutating func await(at now: Int64) { state = hasBegun ? .receiving(now) : .asking(now) }

  /// A message has come, or the connection is over.
  mutating func stop(_ message: CopyMessage?, at now: Int64) {
    switch (state, message) {
    case (.resting, _): break
    case (.asking(let start), .some): made += now - start
    case (.asking(let start), nil), (.receiving(let start), _): spent += now - start
    }
    state = .resting
  }

  /// The file begins, and so much of it is here.
  mutating func begin(keeping kept: Int) {
    hasBegun = true
    if case .asking(let start) = state { state = .receiving(start) }
    guard kept != length || beginnings == 0 else { return }
    beginnings += 1
    if kept < mark || beginnings == 1 { (spent, mark) = (0, kept) }
    length = kept
    if beginnings > limits.beginnings { refusal = "it has begun anew too often" }
  }

  /// So many bytes of the file have come.
  mutating func receive(_ count: Int) {
    length += count
    guard length - mark >= limits.least else { return }
    (mark, spent) = (length, 0)
  }

  /// What is over, if anything; `heard` is when the last byte has come.
  func end(at now: Int64, heard: Int64) -> End? {
    if let refusal { return .pages(refusal) }
    switch state {
    case .resting: return nil
    case .asking(let start):
      let waited = now - start
      if made + waited >= limits.making {
        return .pages("it was not made in \(limits.making / 60_000) minutes")
      }
      return slow(waited) ?? late(start, now, heard)
    case .receiving(let start): return slow(now - start) ?? late(start, now, heard)
    }
  }

  /// When to ask that again.
  func due(heard: Int64) -> Int64? {
    switch state {
    case .resting: nil
    case .asking(let start):
      min(late(start, heard), start + min(limits.making - made, limits.window - spent))
    case .receiving(let start): min(late(start, heard), start + limits.window - spent)
    }
  }

  private func slow(_ waited: Int64) -> End? {
    guard spent + waited >= limits.window else { return nil }
    return .pages("fewer than \(limits.least) bytes came in \(limits.window / 1_000) s")
  }

  private func late(_ start: Int64, _ heard: Int64) -> Int64 {
    min(start + limits.message, max(start, heard) + limits.silence)
  }

  private func late(_ start: Int64, _ now: Int64, _ heard: Int64) -> End? {
    now >= late(start, heard) ? .connection : nil
  }
}
