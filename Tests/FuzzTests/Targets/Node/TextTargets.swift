import CAvahi

@testable import Flotilla
@testable import Network
@testable import Store

/// Asks a text everything that the readers of an application's schema ask.
func readSQL(_ bytes: [UInt8]) {
  let text = SQLText(String(decoding: bytes, as: UTF8.self))
  var end = 0
  for token in text.tokens {
    demand(token.bytes.lowerBound >= end && !token.bytes.isEmpty, "\(token) after \(end)")
    end = token.bytes.upperBound
  }
  _ = (text.collations, text.raisesIgnore)
  _ = text.text(text.tokens.indices, columns: ["a", "rowid"])
  guard let inside = text.parenthesised() else { return }
  let parts = text.parts(of: inside)
  for part in parts where !part.isEmpty {
    _ = (text.mentions(in: part), text.text(part, columns: []))
    _ = text.parenthesised(from: part.lowerBound)
  }
  demand(parts.reduce(parts.count - 1) { $0 + $1.count } == inside.count, "\(parts)")
}

/// Reads a request; the times in it must be such that a clock can be added.
func readRequest(_ bytes: [UInt8]) {
  guard let request = ControlRequest(line: bytes) else { return }
  switch request {
  case .sync(_, let milliseconds), .wait(_, _, _, let milliseconds), .invite(let milliseconds, _):
    _ = Uptime.wall + Duration.milliseconds(milliseconds).milliseconds
  default: break
  }
}

func readAddress(_ bytes: [UInt8]) {
  let text = String(decoding: bytes, as: UTF8.self)
  _ = try? Endpoint(parsing: text)
  guard let endpoint = try? Endpoint(parsing: text, defaultPort: 7_000) else { return }
  let again = try? Endpoint(parsing: endpoint.description)
  demand(again == endpoint, "\(endpoint) was read again as \(String(describing: again))")
}

/// Reads the bytes as the data of a DNS TXT record, by way of Avahi's own parser.
func readTXT(_ bytes: [UInt8]) {
  var list: UnsafeMutablePointer<AvahiStringList>?
  guard avahi_string_list_parse(bytes, bytes.count, &list) == 0 else { return }
  defer { avahi_string_list_free(list) }
  let pairs = TXTRecord(copying: list).pairs
  demand(pairs.count <= 16, "\(pairs.count) pairs")
  demand(pairs.allSatisfy { $0.key.utf8.count + $0.value.utf8.count < 256 }, "\(pairs)")
}
