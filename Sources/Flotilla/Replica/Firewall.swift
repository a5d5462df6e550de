import CLinux
import FoundationEssentials
import Glibc

/// What keeps others from a port on many machines, as far as one can see that without being root.
enum Firewall: String, CaseIterable, Sendable {
  case ufw
  case firewalld
  case nftables
  case iptables

  /// What is seen of one.
  enum Sign: Sendable, Equatable {
    /// It is on, or its set-up keeps out what nobody has let in.
    case on
    /// It has rules, and root alone can see which.
    case possible
  }

  /// Those of which something is seen; what may be is left out where one is on for certain.
  static func seen(root: String = "") -> [(firewall: Firewall, sign: Sign)] {
    let seen = allCases.compactMap { firewall in
      firewall.sign(root: root).map { (firewall: firewall, sign: $0) }
    }
    let certain = seen.filter { $0.sign == .on }
    return certain.isEmpty ? seen : certain
  }

  /// What is seen of this one; `root` is another root of the file system, for tests.
  func sign(root: String = "") -> Sign? {
    switch self {
    case .ufw:
      let lines = Self.lines(root + "/etc/ufw/ufw.conf") ?? []
      return lines.contains { $0.lowercased().hasPrefix("enabled=yes") } ? .on : nil
    case .firewalld:
      return ["/run/firewalld", "/run/firewalld.pid"].contains { Self.isThere(root + $0) }
        ? .on : nil
    case .nftables:
      return Self.sign(
        of: ["/etc/nftables.conf", "/etc/sysconfig/nftables.conf"], by: "nftables.service",
        module: ["nf_tables"], root: root, isClosing: Self.closesByTable)
    case .iptables:
      return Self.sign(
        of: ["/etc/iptables/rules.v4", "/etc/sysconfig/iptables"],
        by: "netfilter-persistent.service", "iptables.service",
        module: ["iptable_filter", "ip6table_filter"], root: root, isClosing: Self.closesByLines)
    }
  }

  /// Rules that a unit loads at the start are read if that is allowed.
  ///
  /// Those that are there by other means show by the kernel's module alone: "/sys/module: … one
  /// subdirectory for each module that is loaded into the kernel" (sysfs(5)).
  private static func sign(
    of files: [String], by units: String..., module modules: [String], root: String,
    isClosing: ([String]) -> Bool
  ) -> Sign? {
    let targets = ["sysinit.target.wants", "multi-user.target.wants", "basic.target.wants"]
    let isEnabled = targets.contains { target in
      units.contains { isThere(root + "/etc/systemd/system/\(target)/\($0)") }
    }
    let isLoaded = modules.contains { isThere(root + "/sys/module/" + $0) }
    for file in files where isEnabled && isThere(root + file) {
      guard let lines = lines(root + file) else { return .possible }
      if isClosing(lines) { return .on }
    }
    return isLoaded ? .possible : nil
  }

  /// `nft` rules for what comes in that drop or reject something.
  private static func closesByTable(_ lines: [String]) -> Bool {
    let text = lines.filter { !$0.hasPrefix("#") }.joined(separator: " ")
    return text.contains("hook input")
      && ["policy drop", " drop", "reject"].contains { text.contains($0) }
  }

  /// What `iptables-save` has written, with a policy or a rule for INPUT that drops or rejects.
  private static func closesByLines(_ lines: [String]) -> Bool {
    lines.contains { line in
      line.hasPrefix(":INPUT DROP")
        || line.hasPrefix("-A INPUT") && ["-j DROP", "-j REJECT"].contains { line.contains($0) }
    }
  }

  /// What lets the port in, and the search for peers.
  func opening(_ port: Int) -> String {
    switch self {
    case .ufw: "sudo ufw allow \(port)/tcp; sudo ufw allow 5353/udp"
    case .firewalld:
      "sudo firewall-cmd --permanent --add-port=\(port)/tcp --add-service=mdns; "
        + "sudo firewall-cmd --reload"
    case .nftables:
      "put \"tcp dport \(port) accept\" and \"udp dport 5353 accept\" first into the chain with "
        + "\"hook input\" in /etc/nftables.conf; sudo systemctl reload nftables (sudo nft list "
        + "ruleset shows what acts now)"
    case .iptables:
      "sudo iptables -I INPUT -p tcp --dport \(port) -j ACCEPT; sudo iptables -I INPUT -p udp "
        + "--dport 5353 -j ACCEPT; the same with ip6tables; sudo netfilter-persistent save (sudo "
        + "iptables -S INPUT shows what acts now)"
    }
  }

  private static func isThere(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  /// Nil if it may not be read.
  private static func lines(_ path: String) -> [String]? {
    (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n").map {
      $0.trimmed
    }
  }
}
