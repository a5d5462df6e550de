import SQLite

/// Writes a path or name so that a POSIX shell takes it as one word, and no program as an option.
package func shellWord(_ text: String) -> String {
  let harmless = "0123456789/._-+=:,@%".unicodeScalars
  let plain = text.unicodeScalars.allSatisfy {
    $0.properties.isAlphabetic || harmless.contains($0)
  }
  // On bytes, as programs look at them: to Swift a dash with a mark over it is no dash.
  let path = text.utf8.first == UInt8(ascii: "-") ? "./" + text : text
  if plain, !text.isEmpty { return path }
  return quoted(path, by: "'", escapes: ["'": "'\\''"])
}
