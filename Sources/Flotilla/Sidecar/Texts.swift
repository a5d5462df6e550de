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
  guard let error = error as? CocoaError else { return String(describing: error) }
  if let code = error.underlying as? POSIXError {
    return String(cString: strerror(code.code.rawValue))
  }
  switch error.code {
  case .fileReadCorruptFile, .fileReadInapplicableStringEncoding: return "it is no text in UTF-8"
  default: return String(describing: error)
  }
}
