import Foundation

/// The rules for documents and for words, over all files of the tree.
enum PageRules {
  /// Hosts that public text may point to. A mirror that only one builder can reach is none of them.
  static let hosts: Set<String> = [
    "swift.org", "www.swift.org", "docs.swift.org", "forums.swift.org", "sqlite.org",
    "www.sqlite.org", "avahi.org", "www.freedesktop.org", "github.com", "man7.org",
    "www.rfc-editor.org", "datatracker.ietf.org", "keepachangelog.com", "semver.org",
    "www.kernel.org", "docs.kernel.org", "www.openssl.org", "docs.openssl.org", "doi.org",
    "arxiv.org", "cse.buffalo.edu", "en.wikipedia.org", "no-color.org", "www.debian.org",
    "127.0.0.1",
    // Names what a picture is written in; nothing is fetched from there.
    "www.w3.org",
    // A machine of the LAN of an example.
    "ward-1.local",
  ]

  static func hosts(_ file: TextFile) -> [Finding] {
    // Few lines hold this, and it is found sooner than the expression.
    Rules.findings(file.lines.map(String.init), in: file) { line in
      guard line.utf8.contains(UInt8(ascii: ":")), line.contains(":/" + "/") else { return nil }
      return line.matches(
        of: /(?:https?|ftp):\/\/([A-Za-z0-9.\-]+\.[A-Za-z]{2,}|\d+\.\d+\.\d+\.\d+)/
      )
      .map { String($0.1) }.first { !hosts.contains($0) }
      .map { "\($0) is not among the hosts that text may point to" }
    }
  }

  /// Words that only make sense to those who built this; written here in two halves.
  static func workshopWords(_ file: TextFile) -> [Finding] {
    let words = [
      "iss" + "ue #", "sess" + "ion [0-9N]+ of", "/wo" + "rk/", "h-ho" + "use", "/py" + "env",
      "coordi" + "nator", "sub" + "agent", "sub-" + "agent", "cla" + "ude", "the bri" + "ef ",
    ]
    let form = words.joined(separator: "|")
    let options: String.CompareOptions = [.regularExpression, .caseInsensitive]
    // Hardly any file has one, and one look at all of it takes less than one at each line.
    guard file.text.range(of: form, options: options) != nil else { return [] }
    return Rules.findings(file.lines.map(String.init), in: file) { line in
      line.range(of: form, options: options).map { "\"\(line[$0])\" is a word of the workshop" }
    }
  }

  /// Pages of docs/ that neither the README nor the list of all pages links to.
  static func unlinked(_ files: [TextFile]) -> [Finding] {
    let linked = Set(
      files.filter { ["README.md", "docs/README.md"].contains($0.path) }
        .flatMap { file in links(file).map { resolve($0, from: file.path) } })
    return files.map(\.path)
      .filter { $0.wholeMatch(of: /docs\/[^\/]+\.md/) != nil && $0 != "docs/README.md" }
      .filter { !linked.contains($0) }
      .map { Finding(path: $0, line: 1, what: "is linked from nowhere") }
  }

  /// Links to files that are not there.
  static func broken(_ files: [TextFile], exists: (String) -> Bool) -> [Finding] {
    files.filter { $0.suffix == "md" }.flatMap { file in
      links(file).map { resolve($0, from: file.path) }.filter { !exists($0) }
        .map { Finding(path: file.path, line: 1, what: "links to \($0), which is not there") }
    }
  }

  /// Links to a part of a page that is not there.
  static func lost(_ files: [TextFile]) -> [Finding] {
    let pages = files.filter { $0.suffix == "md" }
    let parts = Dictionary(
      pages.map { page in
        (page.path, Set(page.lines.filter { $0.hasPrefix("#") }.map { anchor(of: String($0)) }))
      }, uniquingKeysWith: { one, _ in one })
    return pages.flatMap { page in
      page.text.matches(of: /\]\(([^)\s#]*)#([^)\s]+)\)/).compactMap { match in
        let path = match.1.isEmpty ? page.path : resolve(String(match.1), from: page.path)
        guard let known = parts[path], !known.contains(String(match.2)) else { return nil }
        return Finding(path: page.path, line: 1, what: "links to no part of \(path): \(match.2)")
      }
    }
  }

  /// What a heading is called in links.
  private static func anchor(of heading: String) -> String {
    let words = heading.drop { $0 == "#" }.drop { $0 == " " }.lowercased()
    return String(words.filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) })
      .replacingOccurrences(of: " ", with: "-")
  }

  /// Decision records are named NNNN-title.md, and no number is used twice.
  static func decisions(_ paths: [String]) -> [Finding] {
    let records = paths.filter { $0.hasPrefix("docs/decisions/") }
    let misnamed = records.filter {
      $0.wholeMatch(of: /docs\/decisions\/\d{4}-[a-z0-9]+(?:-[a-z0-9]+)*\.md/) == nil
    }
    let numbers = Dictionary(grouping: records) { $0.dropFirst("docs/decisions/".count).prefix(4) }
    let twice = numbers.values.filter { $0.count > 1 }.flatMap { $0 }
    return misnamed.map { Finding(path: $0, line: 1, what: "is not named NNNN-title.md") }
      + twice.sorted().map { Finding(path: $0, line: 1, what: "has the number of another record") }
  }

  /// The targets of links to files, without anchors.
  private static func links(_ file: TextFile) -> [String] {
    file.text.matches(of: /\]\(([^)\s#]+)[^)]*\)/).map { String($0.1) }
      .filter { !$0.contains("://") && !$0.hasPrefix("mailto:") }
  }

  private static func resolve(_ link: String, from path: String) -> String {
    var parts = path.split(separator: "/").dropLast().map(String.init)
    for part in link.split(separator: "/").map(String.init) where part != "." {
      if part == "..", !parts.isEmpty { parts.removeLast() } else { parts.append(part) }
    }
    return parts.joined(separator: "/")
  }
}
