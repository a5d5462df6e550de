import Replication
import Testing

@Suite("When an edit was written") struct DatingTests {
  private static let boot = Identity(high: 1, low: 1)
  private static let start: Int64 = 1_790_000_000_000
  private static let hour: Int64 = 3_600_000
  private static let year = 8_760 * hour

  /// A look at some hour of the world, with a wall clock that is ahead by so much.
  private func look(_ hours: Int64, ahead: Int64 = 0, knows: Bool = true, bootedAt: Int64 = 0)
    -> Instant
  {
    Instant(
      uptime: (hours - bootedAt) * Self.hour + 1_000, wall: Self.start + hours * Self.hour + ahead,
      site: knows ? Self.start + hours * Self.hour : nil)
  }

  /// In hours, negative if it cannot be told.
  private func place(
    _ timeline: Timeline, at now: Instant, _ walls: [Int64]
  ) -> [Double] {
    var dating = timeline.dating(at: now)
    return walls.enumerated().map { index, wall in
      let moment = dating.place(Self.start + wall, entry: Int64(index) + 1)
      let hours = Double(moment.at - Self.start) / Double(Self.hour)
      return moment.isCertain ? hours : -hours
    }
  }

  /// A node stopped at hour 1, its journal empty.
  private var stopped: Timeline {
    var timeline = Timeline(boot: Self.boot)
    timeline.look(at: look(1))
    timeline.settle(at: look(1))
    return Timeline(timeline.bytes, boot: Self.boot, last: 0)
  }

  @Test func `while a node runs it is known, whatever the clock says`() {
    var timeline = stopped
    timeline.look(at: look(1))
    timeline.settle(at: look(1))
    var now = look(1)
    now.uptime += 1_500
    now.wall += 1_500
    now.site? += 1_500
    let here = 1 + 1_500 / Double(Self.hour)
    for wall in [Self.hour + Self.year, Self.hour - Self.year, -Self.start, 1 << 60, -1 << 60]
      as [Int64]
    {
      #expect(place(timeline, at: now, [wall]) == [here])
    }
  }

  @Test func `while it does not run the wall clock tells, if nobody has set it`() {
    var timeline = stopped
    timeline.look(at: look(10))
    let walls = [2 * Self.hour, 5 * Self.hour, 5 * Self.hour, 9 * Self.hour]
    #expect(place(timeline, at: look(10), walls) == [2, 5, 5, 9])
  }

  @Test func `a clock that was set ahead and back again tells nothing, and order is kept`() {
    var timeline = stopped
    timeline.look(at: look(10))
    let walls = [3 * Self.hour, 4 * Self.hour + Self.year, 6 * Self.hour, 2 * Self.hour]
    #expect(place(timeline, at: look(10), walls) == [3, -3, 6, -6])
  }

  @Test func `a clock that is set and stays so tells by what it is now`() {
    for ahead in [Self.year, -Self.year] {
      var timeline = stopped
      timeline.look(at: look(10, ahead: ahead))
      let walls = [2 * Self.hour, 5 * Self.hour + ahead, 9 * Self.hour + ahead]
      #expect(place(timeline, at: look(10, ahead: ahead), walls) == [2, 5, 9])
    }
  }

  @Test func `where two clocks fit the earlier is taken, and it is not certain`() {
    var timeline = stopped
    timeline.look(at: look(10, ahead: 2 * Self.hour))
    #expect(place(timeline, at: look(10, ahead: 2 * Self.hour), [6 * Self.hour]) == [-4])
  }

  @Test func `steps that a waiting node has noted are undone`() {
    var timeline = stopped
    for (hours, ahead) in [(2, 0), (4, Self.year), (6, -Self.hour)] as [(Int64, Int64)] {
      timeline.look(at: look(hours, ahead: ahead, knows: false))
    }
    let kept = Timeline(timeline.bytes, boot: Self.boot, last: 0)
    let walls = [2 * Self.hour, 5 * Self.hour + Self.year, 6 * Self.hour]
    #expect(place(kept, at: look(8, ahead: -Self.hour), walls) == [2, 5, 7])
  }

  @Test func `without a battery the edits of each boot are told by its own clock`() {
    var timeline = stopped
    // A boot at hour 3 without contact, in 1970.
    let ahead = -Self.start - 3 * Self.hour
    let second = Identity(high: 1, low: 2)
    timeline = Timeline(timeline.bytes, boot: second, last: 1)
    timeline.look(at: look(3, ahead: ahead, knows: false, bootedAt: 3))
    // Another at hour 6, which meets somebody an hour later.
    let again = -Self.start - 6 * Self.hour
    timeline = Timeline(timeline.bytes, boot: Identity(high: 1, low: 3), last: 2)
    timeline.look(at: look(6, ahead: again, knows: false, bootedAt: 6))
    let walls = [2 * Self.hour, -Self.start + Self.hour, -Self.start + Self.hour / 2]
    #expect(
      place(timeline, at: look(7, ahead: again, bootedAt: 6), walls) == [2, -2, 6.5])
  }

  @Test func `nothing is later than now or earlier than what was known`() {
    var timeline = stopped
    timeline.look(at: look(10))
    let walls = [Self.hour - 1_000, 10 * Self.hour + 1_000]
    #expect(place(timeline, at: look(10), walls) == [1, 10])
    // Site time was set back: now is before what was known.
    var back = look(10)
    back.site = Self.start
    #expect(place(timeline, at: back, [5 * Self.hour]).map { abs($0) } == [0])
  }

  @Test func `what is kept is read again, and what is damaged is nothing`() {
    var timeline = stopped
    timeline.look(at: look(4, ahead: Self.year))
    #expect(Timeline(timeline.bytes, boot: Self.boot, last: 9) == timeline)
    for count in 0..<timeline.bytes.count {
      let cut = Timeline(Array(timeline.bytes.prefix(count)), boot: Self.boot, last: 9)
      #expect(cut.start == nil)
    }
  }
}
