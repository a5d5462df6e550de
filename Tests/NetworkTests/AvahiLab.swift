import Foundation
import PrivateBus
import Testing

@testable import Network

/// Two hosts with a D-Bus and an Avahi daemon of their own, in namespaces that end with the test.
///
/// The near host's bus is a socket in the file system, which crosses network namespaces: so this
/// process is a client of a daemon whose LAN is one virtual cable. Nothing is announced on a real
/// interface. The shell is process 1 of a namespace and ends when its input ends, also when this
/// process is killed; all others end with it.
final class AvahiLab {
  private static let folder = String(cString: private_bus_folder())

  /// Whether this environment can make namespaces and has the daemons.
  static let isPossible: Bool = {
    let tools = ["unshare", "ip", "dbus-daemon", "avahi-daemon", "avahi-publish"]
    let question = tools.map { "command -v \($0)" }.joined(separator: " && ")
    let namespaces = "unshare --net --mount --pid --fork ip link add type veth"
    guard let process = try? start("(\(question) && \(namespaces)) >/dev/null 2>&1") else {
      return false
    }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  private let process: Process
  private let input = Pipe()
  private let output = Pipe()

  init() throws {
    try? FileManager.default.removeItem(atPath: Self.folder)
    try FileManager.default.createDirectory(
      atPath: Self.folder, withIntermediateDirectories: false)
    for bus in ["near", "far"] {
      try Self.busConfiguration(Self.folder, bus).write(
        toFile: "\(Self.folder)/\(bus).conf", atomically: true, encoding: .utf8)
    }
    for (name, text) in [("functions", Self.functions), ("lab", Self.script)] {
      try "\(text)\n".write(toFile: "\(Self.folder)/\(name)", atomically: true, encoding: .utf8)
    }
    process = try Self.start(
      "cd \(Self.folder); exec unshare --net --mount --pid --fork --kill-child sh ./lab",
      input, output)
  }

  deinit {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
    try? FileManager.default.removeItem(atPath: Self.folder)
  }

  /// Runs a line of the lab's script, such as the name of one of its functions, and waits.
  func run(_ line: String) async throws {
    try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    let output = output.fileHandleForReading.fileDescriptor
    let answer = await DispatchQueue(label: "lab").run { () -> String in
      var answer: [UInt8] = []
      var byte: UInt8 = 0
      while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { answer.append(byte) }
      return String(decoding: answer, as: UTF8.self)
    }
    try #require(answer == "done 0", "\(line): \(answer)")
  }

  private static func start(
    _ line: String, _ input: Pipe = Pipe(), _ output: Pipe = Pipe()
  ) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "PATH=$PATH:/usr/sbin:/sbin; cd /tmp; \(line)"]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    return process
  }

  private static func busConfiguration(_ folder: String, _ bus: String) -> String {
    """
    <busconfig><type>system</type><listen>unix:path=\(folder)/\(bus)</listen>
    <auth>EXTERNAL</auth><policy context="default"><allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
    """
  }

  /// What both hosts need; `publish_far` makes the second host and announces a service there.
  private static let functions = """
    until_true() { n=0; until "$@"; do n=$((n + 1)); [ $n -lt 200 ] || return 1; sleep 0.1; done; }
    start_bus() {
      dbus-daemon --config-file=$1.conf --nofork --nopidfile & bus=$!
      until_true test -S $1
    }
    stop_bus() { kill -9 $bus; wait $bus; rm near; }
    start_daemon() {
      mkdir -p /run/avahi-daemon; mount -t tmpfs tmpfs /run/avahi-daemon
      printf "[server]\\nhost-name=$1\\n[wide-area]\\nenable-wide-area=no\\n" >$1-avahi.conf
      export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$PWD/$1
      avahi-daemon -f $1-avahi.conf --no-drop-root --no-chroot --no-rlimits & avahi=$!
    }
    stop_daemon() { kill -9 $avahi; wait $avahi; umount /run/avahi-daemon; }
    far_has_left() { ip link set far0 netns $far; ! ip link show far0; }
    publish_far() {
      unshare --net --mount sh -xc '
        . ./functions
        ip link set lo up
        until_true ip addr add 10.78.0.2/24 dev far0 && ip link set far0 up
        start_bus far && start_daemon far
        avahi-publish --no-fail -s "$@" & echo $! >publisher; wait' \
          sh "$1" _flotilla-lab._tcp "$2" "$3" &
        far=$!
      until_true far_has_left
    }
    """

  private static let script = """
    exec 3>&1 >>log 2>&1
    set -x
    . ./functions
    ip link set lo up
    ip link add near0 type veth peer name far0
    ip addr add 10.78.0.1/24 dev near0
    ip link set near0 up
    while read -r line; do eval "$line"; echo "done $?" >&3; done
    """
}
