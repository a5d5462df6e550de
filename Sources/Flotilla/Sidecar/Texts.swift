import FoundationEssentials
import Glibc

extension StringProtocol {
  /// Without blanks and line ends around it.
  package var trimmed: String { trimmed(where: \.isWhitespace) }

  /// Without such characters around it.
  func trimmed(where isBlank: (Character) -> Bool) -> String {
    guard let first = firstIndex(where: { !isBlank($0) }),
      let last = lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(self[first...last])
  }
}

/// What an error of Foundation's files says to people, without the names of its types.
package func reason(of error: any Error) -> String {
  guard let code = (error as? CocoaError)?.underlying as? POSIXError else {
    return String(describing: error)
  }
  return String(cString: strerror(code.code.rawValue))
}
