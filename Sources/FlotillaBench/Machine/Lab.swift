import Foundation
import Glibc

/// A LAN of hosts in network namespaces, made by scripts/lan.sh; it ends with this value.
final class Lab {
  let folder: String
  private let place: Workplace
  private static let script = "scripts/lan.sh"

  /// Why there can be no lab here, or nil.
  static func obstacle(in place: Workplace) -> String? {
    guard access(script, X_OK) == 0 else { return "\(script) is not in the current folder" }
    do {
      try Child([script, "can"], in: place.folder).wait(within: .seconds(20))
      return nil
    } catch {
      return "\(script) cannot make a lab here"
    }
  }

  init(hosts: Int, in place: Workplace) throws {
    self.place = place
    folder = try Child([Self.script, "up", "\(hosts)", "\(getpid())"], in: place.folder)
      .wait(within: .seconds(60)).output
  }

  deinit { try? command("down") }

  func database(of host: Int) -> String { "\(folder)/h\(host)/home/site.db" }

  func command(_ words: String...) throws {
    try Child([Self.script] + words, in: place.folder, environment: environment)
      .wait(within: .seconds(30))
  }

  /// Runs `flotilla` on a host.
  @discardableResult
  func flotilla(_ host: Int, _ words: String...) throws -> String {
    try Child(
      [Self.script, "exec", "\(host)", "flotilla"] + words, in: place.folder,
      environment: environment
    ).wait(within: .seconds(60)).output
  }

  private var environment: [String: String] {
    ["FLOTILLA_LAB": folder, "FLOTILLA_BIN": Workplace.programs]
  }
}
