import Replication

/// What has arrived in one session and was not worked through yet.
///
/// The session reads on while it works. So it knows whether its peer is alive, and the next rows of
/// a catch-up have gathered when those before are merged; but not without end.
struct Inbox {
  /// Of somebody who has not said Hello yet the longest frame fits, and a little more; ...
  static let first = Limits.frame + (128 << 10)
  /// ... of a member as much as is merged in one go.
  static let most = Limits.gatheredBytes + (128 << 10)

  private var frames = FrameBuffer()
  /// Why nothing more comes, once that is so.
  private(set) var end: String?
  private var reader: CheckedContinuation<Void, Never>?
  private var worker: CheckedContinuation<Void, Never>?

  var isFull: Bool { frames.count > most }
  private var most = Self.first

  /// Whether another whole frame is here.
  var isReady: Bool { frames.isReady }

  mutating func append(_ bytes: [UInt8]) {
    frames.append(bytes)
    wakeWorker()
  }

  mutating func finish(_ reason: String) {
    end = end ?? reason
    wakeWorker()
  }

  /// The next whole frame, if it is here.
  mutating func next() throws(WireError) -> [UInt8]? {
    let frame = try frames.next()
    if !isFull { wakeReader() }
    return frame
  }

  /// The peer is a member.
  mutating func acceptLongFrames() { (frames.limit, most) = (Limits.frame, Self.most) }

  /// Throws away what nobody wants any more.
  mutating func clear() {
    frames = FrameBuffer(limit: frames.limit)
    wakeReader()
  }

  mutating func waitForRoom(_ reader: CheckedContinuation<Void, Never>) { self.reader = reader }

  mutating func waitForMore(_ worker: CheckedContinuation<Void, Never>) { self.worker = worker }

  private mutating func wakeReader() {
    reader?.resume()
    reader = nil
  }

  private mutating func wakeWorker() {
    worker?.resume()
    worker = nil
  }
}
