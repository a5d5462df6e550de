import Replication

/// Writes the chunks of a copy while the next ones are on their way.
struct PageWriter {
  private(set) var file: PageFile?
  /// So many bytes have come.
  private(set) var received = 0
  /// The last chunk that came.
  private(set) var writing: Task<Result<Void, FlotillaError>, Never>?

  /// Opens the file and keeps so much of it.
  mutating func begin(
    _ path: String, _ copy: Identity, keeping kept: Int
  ) async throws(FlotillaError) {
    let file = try PageFile(path: path, copy)
    try await file.keep(kept)
    self.file = file
  }

  /// Begins to add a chunk, once the one before it is written.
  mutating func write(_ bytes: [UInt8]) async throws(FlotillaError) {
    try await writing?.value.get()
    received += bytes.count
    let file = file
    writing = Task {
      do throws(FlotillaError) {
        return .success(try await file?.append(bytes) ?? ())
      } catch {
        return .failure(error)
      }
    }
  }
}
