import FoundationEssentials
import Glibc

extension StringProtocol {
  /// Without blanks, line ends and control characters around it.
  package var trimmed: String {
    func isBlank(_ character: Character) -> Bool {
      character.isWhitespace
        || character.unicodeScalars.allSatisfy { $0.properties.generalCategory == .control }
    }
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
