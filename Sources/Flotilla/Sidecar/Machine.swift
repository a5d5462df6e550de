import FoundationEssentials
import Glibc

/// By what a machine is told from another: a copied disk must not pass for the original.
struct Machine: Codable, Equatable {
  /// `/etc/machine-id`, made when the system was installed; a cloned disk has the same.
  var id: String?
  /// What the board is called by its maker, where anybody may read it (small ARM boards).
  var serial: String?
  /// The addresses that were built into its network cards.
  var cards: [String] = []

  /// False if something says that the two are different machines.
  ///
  /// Cards come and go with docks and adapters, so they speak only if none is the same.
  func isSame(as other: Machine) -> Bool {
    if let id, let theirs = other.id, id != theirs { return false }
    if let serial, let theirs = other.serial { return serial == theirs }
    return cards.isEmpty || other.cards.isEmpty || !Set(cards).isDisjoint(with: other.cards)
  }

  /// The machine on which this runs; `root` is another root of the file system, for tests.
  static func present(root: String = "") -> Machine {
    Machine(
      id: text(root + "/etc/machine-id") ?? text(root + "/var/lib/dbus/machine-id"),
      serial: text(root + "/proc/device-tree/serial-number"),
      cards: cards(root + "/sys/class/net"))
  }

  /// "addr_assign_type: 0: permanent address" (Documentation/ABI/testing/sysfs-class-net); only
  /// what hangs on a device is a card.
  private static func cards(_ folder: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().compactMap { name in
      let card = folder + "/" + name
      guard access(card + "/device", F_OK) == 0, text(card + "/addr_assign_type") == "0" else {
        return nil
      }
      return text(card + "/address")
    }
  }

  private static func text(_ path: String) -> String? {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
    let trimmed = text.trimmed { character in
      character.isWhitespace
        || character.unicodeScalars.allSatisfy { $0.properties.generalCategory == .control }
    }
    return trimmed.isEmpty ? nil : trimmed
  }
}
