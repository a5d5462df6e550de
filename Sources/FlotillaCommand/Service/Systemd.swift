import Flotilla
import FoundationEssentials
import Glibc

/// What systemd keeps of the units on this machine, or in the image of another one.
struct Systemd: Sendable {
  /// The real path of the folder of an image; empty for the running system, and for an image whose
  /// own top it is.
  let root: String
  /// Whether nothing is started, for the system that is prepared does not run.
  let isImage: Bool

  /// The running system.
  init() { (root, isImage) = ("", false) }

  /// The image in a folder.
  init(root: String) throws(FlotillaError) {
    isImage = true
    guard let real = realpath(root, nil) else { throw Self.noImage(root) }
    defer { free(real) }
    self.root = String(cString: real) == "/" ? "" : String(cString: real)
  }

  /// By what the last call left in `errno`.
  private static func noImage(_ root: String) -> FlotillaError {
    FlotillaError(
      .system, "cannot write in \(root)/: \(String(cString: strerror(errno)))",
      remedy: "--root names the top folder of a system's image.")
  }

  /// Fails in plain words where there is no systemd, or one that may not be changed.
  func check(changes: Bool, isEnding: Bool = false) throws(FlotillaError) {
    if !isImage, access("/run/systemd/system", F_OK) != 0 {
      throw FlotillaError(
        .system, "systemd does not run on this machine",
        remedy: isEnding
          ? "There is nothing to disable; a node that runs is stopped by: flotilla stop DB"
          : "Start the node with: flotilla run DB --background; and the same from whatever "
            + "starts programs here.")
    }
    if isImage, access(root + "/", W_OK | X_OK) != 0 {
      throw Self.noImage(root)
    }
    if !isImage, changes, geteuid() != 0 {
      throw FlotillaError(
        .permissions, "only root may change what systemd starts",
        remedy: "Say the same with sudo; the node runs as the owner of the database all the same.")
    }
    guard templates.contains(where: { access($0, R_OK) == 0 }) else {
      throw FlotillaError(
        .system, "\(ServiceUnit.template) is not installed\(root.isEmpty ? "" : " in \(root)")",
        remedy: "Install Flotilla's package, or: sudo make install")
    }
  }

  private var templates: [String] {
    ["/etc", "/usr/local/lib", "/usr/lib", "/lib"].map {
      "\(root)\($0)/systemd/system/\(ServiceUnit.template)"
    }
  }

  private func folder(of unit: ServiceUnit) -> String {
    "\(root)/etc/systemd/system/\(unit.name).d"
  }

  /// Where the settings of one database are.
  func settingsFile(of unit: ServiceUnit) -> String { folder(of: unit) + "/database.conf" }

  func write(_ unit: ServiceUnit) throws(FlotillaError) {
    let file = settingsFile(of: unit)
    do {
      try FileManager.default.createDirectory(
        atPath: folder(of: unit), withIntermediateDirectories: true)
      try Data(unit.settings.utf8).write(to: URL(filePath: file), options: .atomic)
      chmod(file, 0o644)
    } catch {
      throw FlotillaError(.system, "cannot write \(file): \(reason(of: error))")
    }
  }

  /// Takes the settings away; false if there were none.
  func remove(_ unit: ServiceUnit) -> Bool {
    let found = unlink(settingsFile(of: unit)) == 0
    rmdir(folder(of: unit))
    return found
  }

  /// Runs systemctl and gives what it printed and its exit status.
  @discardableResult
  func control(_ words: [String]) throws(FlotillaError) -> (text: String, status: Int32) {
    try ChildProcess.said(
      by: ["systemctl"] + (isImage ? ["--root=\(root)/"] : []) + ["--no-pager"] + words)
  }

  /// The same where anything but success is an error.
  func succeed(_ words: [String], remedy: String?) throws(FlotillaError) {
    let (text, status) = try control(words)
    guard status != 0 else { return }
    throw FlotillaError(
      .system, "systemctl \(words.joined(separator: " ")) failed\(text.isEmpty ? "" : ": " + text)",
      remedy: remedy)
  }
}
