import Replication

/// Reads a stream as a session does; its last byte says in pieces of which size it arrives.
func readFrames(_ bytes: [UInt8]) {
  guard let last = bytes.last else { return }
  var frames = FrameBuffer(limit: last & 1 == 0 ? Limits.frame : Limits.greetingFrame)
  let piece = last < 2 ? bytes.count : Int(last >> 1)
  var start = 0
  do {
    while start < bytes.count {
      let end = min(start + piece, bytes.count)
      frames.append(piece == bytes.count ? bytes : Array(bytes[start..<end]))
      start = end
      while let frame = try frames.next() { _ = try Message(frame: frame) }
    }
  } catch {
    // Refused, as most of it must be.
  }
}

func readMessage(_ bytes: [UInt8]) {
  guard let message = try? Message(frame: bytes) else { return }
  let frame = message.frame
  // Numbers may be written longer than necessary, so the bytes can differ; the message cannot.
  demand(frame.count <= bytes.count + 4, "\(message) has grown")
  let again = try? Message(frame: Array(frame.dropFirst(4)))
  demand(again == message, "\(message) was read again as \(String(describing: again))")
}

func readBatch(_ bytes: [UInt8]) {
  guard let batch = try? RowBatch(bytes: bytes) else { return }
  var writer = RowBatchWriter()
  for row in batch.rows { writer.add(batch.tables[row.table], row.version, row.content) }
  demand(writer.check == batch.check, "the check of \(batch) differs")
  // Tables that no row uses, or that are there twice, are not written again.
  let again = try? RowBatch(bytes: writer.bytes)
  demand(again?.rows.map(\.content) == batch.rows.map(\.content), "rows of \(batch)")
  demand(again?.rows.map(\.version) == batch.rows.map(\.version), "versions of \(batch)")
}
