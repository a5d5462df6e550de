import Replication

/// Reads an invitation code as somebody typed it.
func readCode(_ bytes: [UInt8]) {
  guard let code = try? InviteCode(String(decoding: bytes, as: UTF8.self)) else { return }
  demand((try? InviteCode(code.description)) == code, "\(code) cannot be read again")
}
