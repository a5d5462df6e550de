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

  @Test(arguments: [
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
