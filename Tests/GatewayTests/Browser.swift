import Foundation
import Glibc
import Synchronization
import Testing

/// Chromium without a window, driven through a pipe; it reaches nothing but 127.0.0.1.
final class Browser: Sendable {
  /// Nil where it is not installed.
  static let program = ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
    .first(where: FileManager.default.isExecutableFile)

  private struct State: Sendable {
    var next = 0
    var answers: [Int: Data] = [:]
    /// What pages complain of: uncaught errors, and what they write to the console.
    var complaints: [String] = []
    var hasEnded = false
  }

  private let process = Process()
  private let input: FileHandle
  private let state = Mutex(State())

  init(in place: Workplace) throws {
    let program = try #require(Self.program)
    let (commands, answers) = (place.path("commands"), place.path("answers"))
    for path in [commands, answers] {
      let code = mkfifo(path, 0o600)
      try #require(code == 0)
    }
    process.executableURL = URL(filePath: "/bin/sh")
    let options = [
      "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
      "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--disable-extensions", "--mute-audio",
      "--window-size=1280,900", "--lang=en",
      "--host-resolver-rules='MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'",
      "--user-data-dir='\(place.path("browser"))'",
    ].joined(separator: " ")
    process.arguments = [
      "-c", "exec \(program) \(options) about:blank 3<'\(commands)' 4>'\(answers)'",
    ]
    process.environment = ["HOME": place.folder, "PATH": "/usr/bin:/bin"]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    place.adopt(process)
    // A FIFO is opened once somebody has it open at the other end.
    input = try #require(FileHandle(forWritingAtPath: commands))
    let output = try #require(FileHandle(forReadingAtPath: answers))
    Thread.detachNewThread { [weak self] in
      var rest = Data()
      while true {
        let bytes = output.availableData
        guard !bytes.isEmpty else { break }
        rest += bytes
        while let end = rest.firstIndex(of: 0) {
          self?.take(Data(rest[rest.startIndex..<end]))
          rest = Data(rest[(end + 1)...])
        }
      }
      self?.state.withLock { $0.hasEnded = true }
    }
  }

  private func take(_ message: Data) {
    guard let object = try? JSONSerialization.jsonObject(with: message) as? [String: Any] else {
      return
    }
    let parameters = object["params"] as? [String: Any]
    state.withLock { state in
      if let id = object["id"] as? Int { state.answers[id] = message }
      if object["method"] as? String == "Runtime.exceptionThrown" {
        state.complaints.append("\(parameters ?? [:])")
      }
    }
  }

  var complaints: [String] { state.withLock(\.complaints) }

  /// One command of the DevTools protocol; gives its result.
  @discardableResult
  func command(
    _ method: String, _ parameters: [String: Any] = [:], session: String? = nil
  ) async throws -> [String: Any] {
    let id = state.withLock { state in
      state.next += 1
      return state.next
    }
    var object: [String: Any] = ["id": id, "method": method, "params": parameters]
    if let session { object["sessionId"] = session }
    try input.write(contentsOf: try JSONSerialization.data(withJSONObject: object) + [0])
    var answer: Data?
    let isThere = try await eventually {
      state.withLock { state in
        answer = state.answers.removeValue(forKey: id)
        return answer != nil || state.hasEnded
      }
    }
    let data = try #require(answer, "\(method): no answer, \(isThere)")
    let said = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    return try #require(said["result"] as? [String: Any], "\(method): \(said)")
  }

  /// A tab with a page.
  func open(_ address: String) async throws -> Tab {
    let made = try await command("Target.createTarget", ["url": address])
    let target = try #require(made["targetId"] as? String)
    let attached = try await command(
      "Target.attachToTarget", ["targetId": target, "flatten": true])
    let tab = Tab(
      browser: self, target: target, session: try #require(attached["sessionId"] as? String))
    try await command("Runtime.enable", session: tab.session)
    return tab
  }

  func end() async throws {
    try await command("Browser.close")
    process.waitUntilExit()
  }
}

/// One tab of a browser.
struct Tab: Sendable {
  let browser: Browser
  let target: String
  let session: String

  /// What an expression of JavaScript gives, as text.
  @discardableResult
  func run(_ expression: String) async throws -> String {
    let result = try await browser.command(
      "Runtime.evaluate",
      ["expression": expression, "awaitPromise": true, "returnByValue": true], session: session)
    try #require(result["exceptionDetails"] == nil, "\(expression): \(result)")
    return ((result["result"] as? [String: Any])?["value"]).map { "\($0)" } ?? ""
  }

  var text: String {
    get async throws { try await run("document.body?.innerText ?? ''") }
  }

  /// Waits until the page says something.
  func says(_ text: String) async throws -> Bool {
    try await eventually { try await self.text.contains(text) }
  }

  /// Presses what has this text, once it is there.
  func press(_ text: String, in place: String = "body") async throws {
    let words = try Self.quoted(text)
    let isThere = try await eventually {
      try await run(
        """
        (() => { const found = [...document.querySelectorAll('\(place) button, \(place) a')]
          .find((one) => one.textContent.trim() === \(words) && !one.disabled);
          found?.click(); return Boolean(found); })()
        """) == "1"
    }
    let said = try await self.text
    try #require(isThere, "nothing to press: \(text); the page says: \(said)")
  }

  /// Types into a field, as somebody would.
  func type(_ text: String, into selector: String) async throws {
    let words = try Self.quoted(text)
    let isThere = try await eventually {
      try await run(
        """
        (() => { const field = document.querySelector('\(selector)'); if (!field) return false;
          field.focus(); field.value = \(words);
          field.dispatchEvent(new Event('input', { bubbles: true })); return true; })()
        """) == "1"
    }
    try #require(isThere, "no field \(selector)")
  }

  /// Into a folder that FLOTILLA_SCREENSHOTS names.
  func picture(_ name: String, width: Int = 1_280, height: Int = 900) async throws {
    guard let folder = ProcessInfo.processInfo.environment["FLOTILLA_SCREENSHOTS"] else { return }
    try await browser.command(
      "Emulation.setDeviceMetricsOverride",
      ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false],
      session: session)
    let shot = try await browser.command("Page.captureScreenshot", session: session)
    let text = try #require(shot["data"] as? String)
    let data = try #require(Data(base64Encoded: text))
    try data.write(to: URL(filePath: "\(folder)/\(name).png"))
  }

  /// Brings it to the front: what is not seen asks for nothing.
  func show() async throws { try await browser.command("Page.bringToFront", session: session) }

  func close() async throws {
    try await browser.command("Target.closeTarget", ["targetId": target])
  }

  private static func quoted(_ text: String) throws -> String {
    String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
  }
}
