import Testing

@testable import Flotilla

/// When the file is looked at: decisions alone, time passes only when told.
@Suite struct WriteNoticeTests {
  private var notice = WriteNotice()
  private var now: Int64 = 1_000_000

  private mutating func feed(_ input: WriteNotice.Input) -> WriteNotice.Directive? {
    notice.receive(input, at: now)
  }

  /// Lets the time of a wait pass and says so.
  private mutating func pass(_ directive: WriteNotice.Directive?) -> WriteNotice.Directive? {
    guard case .wait(let microseconds, let sign) = directive else { return nil }
    now += (microseconds + 999) / 1_000
    return feed(.waited(sign: sign))
  }

  /// A notice to which a write was told and that has folded it, `pause` ms ago; the write lock was
  /// `held` for so many µs.
  private static func folded(before pause: Int64, held: Int64 = 300) -> WriteNoticeTests {
    var it = WriteNoticeTests()
    #expect(it.feed(.sign) == .look)
    #expect(it.feed(.looked(version: 1)) == .fold(version: 1))
    #expect(it.feed(.held(held)) == nil)
    #expect(it.feed(.folded(version: 1)) == nil)
    #expect(it.notice.state == .quiet)
    it.now += pause
    return it
  }

  @Test(arguments: [4, 5, 300, 950, 10_000, 1 << 40] as [Int64])
  func `a sign leads to a look at once, however long ago the last one was`(pause: Int64) {
    var it = Self.folded(before: pause)
    #expect(it.feed(.sign) == .look)
    #expect(it.feed(.looked(version: 2)) == .fold(version: 2))
  }

  @Test(
    arguments: [(0, 0, 4), (300, 3, 1), (900, 0, 7), (5_000, 10, 30), (90_000, 0, 160)]
      as [(held: Int64, pause: Int64, left: Int64)])
  func `the lock is free eight times as long as a fold held it`(
    held: Int64, pause: Int64, left: Int64
  ) {
    var it = Self.folded(before: pause, held: held)
    let wait = it.feed(.sign)
    #expect(wait == .wait(microseconds: 1_000 * left, sign: 2))
    #expect(it.pass(wait) == .look)
  }

  @Test func `a write that does not show yet is looked for often at first, for about a second`() {
    var it = Self.folded(before: 5_000)
    var (waits, directive) = ([Int64](), it.feed(.sign))
    while directive == .look {
      directive = it.feed(.looked(version: 1))
      guard case .wait(let microseconds, _) = directive else { break }
      waits.append(microseconds)
      directive = it.pass(directive)
    }
    #expect(directive == nil && it.notice.state == .quiet)
    #expect(waits == waits.sorted())
    #expect(waits.prefix(4).reduce(0, +) < 5_000)
    #expect(900_000...1_200_000 ~= waits.reduce(0, +))
    #expect(it.feed(.sign) == .look)
  }

  @Test func `a sign begins anew, and the wait that it overtakes is void`() {
    var it = Self.folded(before: 5_000)
    #expect(it.feed(.sign) == .look)
    let first = it.feed(.looked(version: 1))
    let second = it.pass(first).flatMap { _ in it.feed(.looked(version: 1)) }
    #expect(first == .wait(microseconds: 300, sign: 2))
    #expect(second == .wait(microseconds: 500, sign: 2))
    #expect(it.feed(.sign) == .look)
    #expect(it.feed(.waited(sign: 2)) == nil)
    #expect(it.feed(.looked(version: 1)) == .wait(microseconds: 300, sign: 3))
    #expect(it.feed(.waited(sign: 2)) == nil)
    #expect(it.feed(.waited(sign: 3)) == .look)
  }

  @Test func `a sign during a look or a fold is not lost`() {
    var it = Self.folded(before: 5_000)
    #expect(it.feed(.sign) == .look)
    #expect(it.feed(.sign) == nil)
    #expect(it.feed(.looked(version: 1)) == .look)
    #expect(it.feed(.looked(version: 2)) == .fold(version: 2))
    _ = it.feed(.held(2_500))
    #expect(it.feed(.sign) == nil)
    let wait = it.feed(.folded(version: 2))
    #expect(wait == .wait(microseconds: 20_000, sign: 4))
    #expect(it.pass(wait) == .look)
    #expect(it.feed(.looked(version: 3)) == .fold(version: 3))
  }

  @Test func `a patrol looks once, and not beside the looks of a sign`() {
    var it = Self.folded(before: 5_000)
    #expect(it.feed(.patrol) == .look)
    #expect(it.feed(.patrol) == nil)
    #expect(it.feed(.looked(version: 1)) == nil)
    #expect(it.feed(.patrol) == .look)
    #expect(it.feed(.looked(version: 2)) == .fold(version: 2))
    #expect(it.feed(.folded(version: 2)) == nil)
    #expect(it.feed(.sign) == .look)
    let wait = it.feed(.looked(version: 2))
    #expect(it.feed(.patrol) == nil)
    #expect(it.pass(wait) == .look)
  }

  @Test func `what could not be folded is tried again by the next patrol or sign`() {
    for input in [WriteNotice.Input.patrol, .sign] {
      var it = Self.folded(before: 5_000)
      #expect(it.feed(.sign) == .look)
      #expect(it.feed(.looked(version: 2)) == .fold(version: 2))
      #expect(it.feed(.failed) == nil)
      #expect(it.feed(input) == .look)
      #expect(it.feed(.looked(version: 2)) == .fold(version: 2))
    }
  }

  @Test func `the first look takes any version for new`() {
    var it = WriteNoticeTests()
    #expect(it.feed(.patrol) == .look)
    #expect(it.feed(.looked(version: 0)) == .fold(version: 0))
  }
}
