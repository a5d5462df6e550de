import Flotilla

/// One file of the page for people. All of them are part of the program: nothing is fetched from
/// anywhere else.
struct PageFile: Sendable {
  let type: String
  let bytes: [UInt8]
  let tag: String

  private init(_ type: String, _ bytes: [UInt8]) {
    (self.type, self.bytes) = (type, bytes)
    tag = "\"\(Replica.fingerprint(bytes))\""
  }

  private static let script = "text/javascript; charset=utf-8"

  /// By their path.
  static let all: [String: PageFile] = [
    "": PageFile("text/html; charset=utf-8", PackageResources.index_html),
    "page/style.css": PageFile("text/css; charset=utf-8", PackageResources.style_css),
    "page/icon.svg": PageFile("image/svg+xml", PackageResources.icon_svg),
    "page/app.js": PageFile(script, PackageResources.app_js),
    "page/calls.js": PageFile(script, PackageResources.calls_js),
    "page/live.js": PageFile(script, PackageResources.live_js),
    "page/elements.js": PageFile(script, PackageResources.elements_js),
    "page/values.js": PageFile(script, PackageResources.values_js),
    "page/site.js": PageFile(script, PackageResources.site_js),
    "page/tables.js": PageFile(script, PackageResources.tables_js),
    "page/editor.js": PageFile(script, PackageResources.editor_js),
    "page/late.js": PageFile(script, PackageResources.late_js),
    "page/conflicts.js": PageFile(script, PackageResources.conflicts_js),
    "page/members.js": PageFile(script, PackageResources.members_js),
    "page/clock.js": PageFile(script, PackageResources.clock_js),
    "page/doctor.js": PageFile(script, PackageResources.doctor_js),
    "page/qr.js": PageFile(script, PackageResources.qr_js),
  ]

  /// What the page may do: its own files, its own gateway, and nothing else.
  private static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

  /// A browser keeps the file, and asks each time whether it is still that one: after an update the
  /// parts of the page fit together.
  func answer(to request: HTTPRequest) throws(Problem) -> HTTPResponse {
    let headers = [
      (name: "ETag", value: tag), ("Cache-Control", "no-cache"),
      ("Content-Security-Policy", Self.policy), ("Cross-Origin-Opener-Policy", "same-origin"),
    ]
    if let condition = try TagCondition(request.list("if-none-match")),
      condition.matches(tag, by: .weak)
    {
      return HTTPResponse(304, headers: headers)
    }
    return HTTPResponse(200, headers: headers + [("Content-Type", type)], body: bytes)
  }
}
