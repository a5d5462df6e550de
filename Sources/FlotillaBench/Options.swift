/// What the words after the program's name ask for.
struct Options: Equatable {
  var extent = Extent.usual
  var isList = false
  var isHelp = false
  var isJSON = false
  var isMarkdown = false
  /// The report to be read instead of measuring.
  var from: String?
  /// The report to compare with.
  var compare: String?
  /// Where the report is written, and the folder of the plots.
  var save: String?
  var plots: String?
  /// The page whose table is replaced.
  var page: String?
  var names: [String] = []

  static let usage = """
    usage: FlotillaBench [--list] [--quick | --long] [--json | --markdown] [--save FILE]
             [--compare FILE] [--plots FOLDER] [--page FILE] [--from FILE] [NAME…]

    Measures what NAME… say, or everything, each several times beside a partner. --quick takes
    smaller sizes, --long adds cuts of ten minutes and ten million rows. The exit status is 1 if a
    measurement failed; a missed target is no failure, nor is what got worse.

      --json          prints one JSON object instead of tables
      --markdown      prints the table of docs/performance.md instead
      --save FILE     writes the JSON object to FILE, too
      --compare FILE  shows the medians beside those of an earlier JSON object, and what got worse
      --plots FOLDER  draws what `curves` has measured
      --page FILE     puts the table into a page, between the marks that are there
      --from FILE     reads an earlier JSON object instead of measuring
    """

  /// Why words make no sense.
  struct Misuse: Error, Equatable {
    let description: String
  }

  init(_ words: [String], known: [String]) throws(Misuse) {
    var rest = words[...]
    while let word = rest.popFirst() {
      switch word {
      case "--list": isList = true
      case "--help", "-h": isHelp = true
      case "--quick": extent = .quick
      case "--long": extent = .long
      case "--json": isJSON = true
      case "--markdown": isMarkdown = true
      case "--from": from = try Self.value(of: word, &rest)
      case "--compare": compare = try Self.value(of: word, &rest)
      case "--save": save = try Self.value(of: word, &rest)
      case "--plots": plots = try Self.value(of: word, &rest)
      case "--page": page = try Self.value(of: word, &rest)
      case _ where word.hasPrefix("-"): throw Misuse(description: "\(word) is no option")
      case _ where !known.contains(word):
        throw Misuse(description: "there is no measurement \(word); see --list")
      default: names.append(word)
      }
    }
    if isJSON && isMarkdown { throw Misuse(description: "--json and --markdown are two forms") }
  }

  private static func value(
    of option: String, _ rest: inout ArraySlice<String>
  ) throws(Misuse) -> String {
    guard let value = rest.popFirst(), !value.hasPrefix("--") else {
      throw Misuse(description: "\(option) lacks a value")
    }
    return value
  }
}
