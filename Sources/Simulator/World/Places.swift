/// A list whose elements are read and changed where they are.
///
/// Who reads a field of an element of an array is often given a copy of the whole element, and
/// nodes and links are large and asked all the time.
struct Places<Element>: ~Copyable {
  private var base: UnsafeMutablePointer<Element>
  private(set) var count: Int

  init(_ elements: [Element]) {
    count = elements.count
    base = .allocate(capacity: max(1, count))
    for (index, element) in elements.enumerated() { (base + index).initialize(to: element) }
  }

  deinit {
    base.deinitialize(count: count)
    base.deallocate()
  }

  var indices: Range<Int> { 0..<count }

  /// Copies of the elements, for what is asked now and then.
  var all: [Element] { Array(UnsafeBufferPointer(start: base, count: count)) }

  subscript(index: Int) -> Element {
    @inline(__always) _read {
      precondition(indices ~= index)
      yield base[index]
    }
    @inline(__always) _modify {
      precondition(indices ~= index)
      yield &base[index]
    }
  }

  mutating func append(_ element: Element) {
    let more = UnsafeMutablePointer<Element>.allocate(capacity: count + 1)
    more.moveInitialize(from: base, count: count)
    (more + count).initialize(to: element)
    base.deallocate()
    (base, count) = (more, count + 1)
  }
}
