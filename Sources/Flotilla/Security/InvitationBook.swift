import FoundationEssentials
import Glibc
import Network
import Replication

/// An invitation as the inviter keeps it: never the code itself.
struct Invitation: Codable, Sendable, Equatable {
  /// What the joiner shows, in hexadecimal digits.
  var identity: String
  var secret: [UInt8]
  var hint: String
  var role: String
  /// When it ends by this machine's clock, ms since 1970: for people.
  var expires: Int64
  /// When it really ends: in this boot, by the time since then. Setting the clock changes nothing.
  var boot: String
  var deadline: Int64
  var usedBy: String?

  func isExpired(_ clock: BootClock) -> Bool { boot != clock.boot || deadline <= clock.uptime }

  func isOpen(_ clock: BootClock) -> Bool { usedBy == nil && !isExpired(clock) }
}

/// The time since this machine was started, and which start that was.
struct BootClock: Sendable, Equatable {
  var boot: String
  var uptime: Int64

  static var now: BootClock {
    let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
    return BootClock(boot: text?.trimmed ?? "", uptime: Uptime.now)
  }
}

/// The invitations of a node, open, used and expired.
///
/// Used and expired ones are remembered for a while, so that a joiner is told which it is; whoever
/// asks has proved that it knows the code.
struct InvitationBook: Codable, Sendable, Equatable {
  static let most = 256

  private(set) var invitations: [Invitation] = []

  init() {}

  /// Reads what `data` has written; nothing from anything else.
  init(_ data: Data?) {
    if let data, let book = try? JSONDecoder().decode(Self.self, from: data) { self = book }
  }

  var data: Data {
    get throws(FlotillaError) {
      do {
        return try JSONEncoder().encode(self)
      } catch {
        throw FlotillaError(.system, "cannot write down the invitations: \(error)")
      }
    }
  }

  /// Notes a new one; the oldest ones that are of no use any more make room.
  mutating func add(_ invitation: Invitation, _ clock: BootClock) throws(FlotillaError) {
    while invitations.count >= Self.most {
      guard let place = invitations.firstIndex(where: { !$0.isOpen(clock) }) else {
        throw FlotillaError(
          .invitation, "\(Self.most) invitations are open already",
          remedy: "Use them, or wait until some have expired.")
      }
      invitations.remove(at: place)
    }
    invitations.append(invitation)
  }

  func open(_ clock: BootClock) -> [Invitation] { invitations.filter { $0.isOpen(clock) } }

  func invitation(_ identity: [UInt8]) -> Invitation? {
    let digits = Self.digits(identity)
    return invitations.first { $0.identity == digits }
  }

  /// Why a joiner that shows an invitation hears nothing; nil if it may go on.
  func objection(
    to shown: [UInt8], by joiner: Identity?, hasCome: Bool, at clock: BootClock
  ) -> Verdict? {
    guard let invitation = invitation(shown) else { return .unknown }
    if let user = invitation.usedBy, hasCome || user != joiner?.description { return .used }
    return invitation.isExpired(clock) ? .expired : nil
  }

  /// What comes of a joiner that shows this invitation; marks it as used if it is let in.
  mutating func use(
    _ identity: [UInt8], by node: Identity, _ clock: BootClock
  ) -> Verdict {
    let digits = Self.digits(identity)
    guard let place = invitations.firstIndex(where: { $0.identity == digits }) else {
      return .unknown
    }
    // Whose answer was lost on the way asks again.
    if let user = invitations[place].usedBy, user != node.description { return .used }
    guard !invitations[place].isExpired(clock) else { return .expired }
    invitations[place].usedBy = node.description
    return .admitted(role: Role(invitations[place].role) ?? .reader)
  }

  enum Verdict: Sendable, Equatable {
    case unknown
    case used
    case expired
    case admitted(role: Role)
  }

  static func digits(_ bytes: [UInt8]) -> String {
    bytes.map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }
}
