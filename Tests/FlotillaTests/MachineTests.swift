import Testing

@testable import Flotilla

/// By what a machine is told from another.
@Suite struct MachineTests {
  private static func machine(
    _ id: String? = "a", serial: String? = nil, _ cards: [String] = []
  ) -> Machine {
    Machine(id: id, serial: serial, cards: cards)
  }

  @Test func `is itself, whatever cards come and go`() {
    let laptop = Self.machine(["one", "two"])
    #expect(laptop.isSame(as: Self.machine(["two", "dock"])))
    #expect(laptop.isSame(as: Self.machine([])))
    // A board that knows its number may have its only adapter changed.
    #expect(Self.machine(serial: "7", ["x"]).isSame(as: Self.machine(serial: "7", ["y"])))
  }

  @Test func `is another by its id, its number, or all of its cards`() {
    #expect(!Self.machine("a").isSame(as: Self.machine("b")))
    #expect(!Self.machine(serial: "7").isSame(as: Self.machine(serial: "8")))
    // A cloned disk has the same id.
    #expect(!Self.machine(["one"]).isSame(as: Self.machine(["other"])))
    #expect(Self.machine(nil).isSame(as: Self.machine("b")))
  }

  @Test func `reads what this machine is without an error`() {
    #expect(Machine.present().isSame(as: .present()))
    #expect(Machine.present(root: "/nowhere") == Machine(id: nil, serial: nil, cards: []))
  }
}

extension MachineTests {
  private static func machine(_ cards: [String]) -> Machine { machine("a", cards) }
}
