import Glibc
import Testing

@testable import Network

@Suite(.timeLimit(.minutes(1))) struct `A folder watch` {
  private let scratch = Scratch()
  private var path: String { scratch.file("x.db") }

  @Test(arguments: ["x.db", "x.db-wal", "x.db-journal"])
  func `tells changes of each of its names`(name: String) async throws {
    let watch = try FolderWatch(path: path)
    defer { watch.stop() }
    var changes = watch.changes.makeAsyncIterator()
    append(to: name)
    #expect(await changes.next() != nil)
  }

  @Test func `goes on when the file is deleted and made again`() async throws {
    append(to: "x.db")
    let watch = try FolderWatch(path: path)
    defer { watch.stop() }
    var changes = watch.changes.makeAsyncIterator()
    unlink(path)
    #expect(await changes.next() != nil)
    append(to: "x.db")
    #expect(await changes.next() != nil)
    append(to: "other")
    rename(scratch.file("other"), path)
    #expect(await changes.next() != nil)
  }

  @Test func `follows symbolic links to where the companions are`() async throws {
    let elsewhere = Scratch()
    close(open(elsewhere.file("real.db"), O_CREAT | O_WRONLY, 0o600))
    symlink(elsewhere.file("real.db"), path)
    let watch = try FolderWatch(path: path)
    defer { watch.stop() }
    var changes = watch.changes.makeAsyncIterator()
    close(open(elsewhere.file("real.db-wal"), O_CREAT | O_WRONLY, 0o600))
    #expect(await changes.next() != nil)
  }

  @Test func `ends with stop, and with the folder`() async throws {
    let stopped = try FolderWatch(path: path)
    stopped.stop()
    stopped.stop()
    for await _ in stopped.changes {}
    let folder = scratch.file("folder")
    mkdir(folder, 0o700)
    let orphaned = try FolderWatch(path: folder + "/x.db")
    rmdir(folder)
    for await _ in orphaned.changes {}
  }

  @Test func `gathers the signs of a long transaction`() async throws {
    let watch = try FolderWatch(path: path)
    let counting = Task {
      var count = 0
      for await _ in watch.changes { count += 1 }
      return count
    }
    let start = ContinuousClock.now
    for _ in 0..<2_000 { append(to: "x.db") }
    let passed = start.duration(to: .now)
    watch.stop()
    // One at the start, and one more for every 2 ms that follow.
    #expect(await counting.value <= 2 + Int(passed / .milliseconds(2)))
  }

  @Test func `says when a folder cannot be watched`() {
    let path = scratch.file("nowhere/x.db")
    let error = #expect(throws: NetworkError.self) { try FolderWatch(path: path) }
    #expect(error?.code == .unreachable)
  }

  @Test func `takes only its own names from the records of the kernel`() {
    let one = record(mask: IN_MODIFY, name: "x.db-wal", padding: 8)
    let two = record(mask: IN_Q_OVERFLOW, name: "", padding: 0)
    #expect(InotifyNews(one).names == ["x.db-wal"])
    #expect(!InotifyNews(one).isOverflow && InotifyNews(one + two).isOverflow)
    #expect(InotifyNews(one.dropLast(1) + []).names.isEmpty, "a record that is cut off")
    #expect(InotifyNews(record(mask: IN_IGNORED, name: "", padding: 0)).isOver)
  }

  private func append(to name: String) {
    let raw = open(scratch.file(name), O_CREAT | O_WRONLY | O_APPEND, 0o600)
    #expect(write(raw, "x", 1) == 1)
    close(raw)
  }

  private func record(mask: some BinaryInteger, name: String, padding: Int) -> [UInt8] {
    let text = Array(name.utf8) + [UInt8](repeating: 0, count: padding)
    return [UInt32(1), UInt32(mask), 0, UInt32(text.count)].flatMap { number in
      withUnsafeBytes(of: number) { [UInt8]($0) }
    } + text
  }
}
