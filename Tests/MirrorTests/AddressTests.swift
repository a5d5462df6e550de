import Flotilla
import Testing

@testable import Mirror

@Suite struct `The address of a server` {
  @Test func `is read`() throws {
    let address = try ServerAddress("mysql://flo@db.example.org:3307/shop?ca=/etc/ca.pem")
    #expect(address.host == "db.example.org" && address.port == 3307 && address.user == "flo")
    #expect(address.database == "shop" && address.authority == "/etc/ca.pem")
    #expect(!address.isLocal)
    #expect(try ServerAddress("mariadb://flo@localhost/shop?socket=/tmp/s").isLocal)
  }

  @Test func `may name several nodes of a cluster`() throws {
    let address = try ServerAddress("mysql://flo@one.example,[::1]:3307,127.0.0.1/shop?ca=/ca.pem")
    #expect(address.host == "one.example" && address.port == 3306)
    #expect(address.others.map(\.host) == ["::1", "127.0.0.1"])
    #expect(address.others.map(\.port) == [3307, 3306])
    #expect(address.others.allSatisfy { $0.user == "flo" && $0.database == "shop" })
    #expect(address.others.allSatisfy { $0.authority == "/ca.pem" && $0.isLocal })
    #expect(!address.isLocal)
    #expect(address.text == "mysql://flo@one.example:3306,[::1]:3307,127.0.0.1:3306/shop")
  }

  @Test(arguments: [
    "mysql://flo@one,/shop", "mysql://flo@,one/shop", "mysql://flo@localhost,one/s?socket=/tmp/s",
    "mysql://flo@one,two:0/shop", "mysql://flo:secret@one,two/shop", "mysql://flo@one,two",
    "mysql://flo@\(Array(repeating: "one", count: 17).joined(separator: ","))/shop",
    "mysql://flo:secret@localhost/shop", "http://flo@localhost/shop", "mysql://localhost/shop",
    "mysql://flo@localhost", "mysql://flo@127.evil.example/s?socket=/tmp/s",
    "mysql://flo@localhost/a/b", "mysql://flo@10.0.0.1/s?socket=/tmp/s",
    "mysql://flo@localhost/shop?ssl=0", "shop", "",
  ])
  func `is refused with the reason`(_ text: String) {
    #expect(throws: FlotillaError.self) { try ServerAddress(text) }
  }

  @Test func `never shows a password`() {
    do throws(FlotillaError) {
      _ = try ServerAddress("mysql://flo:secret@localhost/shop")
      Issue.record("it was taken")
    } catch {
      #expect(!error.description.contains("secret") && error.code == .usage)
    }
  }
}
