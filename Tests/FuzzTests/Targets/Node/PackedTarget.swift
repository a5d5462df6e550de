import Replication

@testable import Flotilla

/// Unpacks a frame, and packs the bytes as if they were one.
func readPacked(_ bytes: [UInt8]) {
  if let message = try? Message(frame: bytes), case .packed(let packed) = message {
    switch try? message.unpacked() {
    case nil: break
    case .rows?, .part?: demand(packed.size <= Limits.frame, "\(packed.size) bytes")
    case let other?: demand(false, "\(other) was packed")
    }
  }
  guard let frame = Packed.frame(of: [0, 0, 0, 0] + bytes) else { return }
  demand(frame.count * 10 < (bytes.count + 4) * 10, "\(bytes.count) bytes have grown")
  let plain = try? Message(frame: bytes)
  let back = try? Message(frame: Array(frame.dropFirst(4))).unpacked()
  demand(plain == back, "\(String(describing: plain)) came back otherwise")
}
