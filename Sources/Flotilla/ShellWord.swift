/// Writes a path or name so that a POSIX shell takes it as one word, and no program as an option.
package func shellWord(_ text: String) -> String {
  let harmless = "0123456789/._-+=:,@%".unicodeScalars
  let plain = text.unicodeScalars.allSatisfy {
    $0.properties.isAlphabetic || harmless.contains($0)
  }
  let path = text.hasPrefix("-") ? "./" + text : text
  if plain, !text.isEmpty { return path }
  return "'"
    + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}
