import Glibc

/// What libFuzzer calls with each input; `FLOTILLA_FUZZ` names the target.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  FuzzTarget.chosen.read(Array(UnsafeBufferPointer(start: data, count: size)))
  return 0
}

extension FuzzTarget {
  static let chosen: FuzzTarget = {
    let name = getenv("FLOTILLA_FUZZ").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget(rawValue: name) else {
      preconditionFailure("FLOTILLA_FUZZ is none of \(allCases.map(\.rawValue))")
    }
    return target
  }()
}
