/// Says of every character that it has no name, in the program that is installed (Makefile).
///
/// Swift's runtime knows them all, as `LATIN SMALL LETTER A`, which is half a megabyte of the
/// program that nobody asks for. The linker puts this in the place of its function (`--wrap`).
@_cdecl("__wrap__swift_stdlib_getScalarName")
public func nameOfNoCharacter(
  _ scalar: UInt32, _ name: UnsafeMutablePointer<UInt8>?, _ capacity: Int
) -> Int {
  0
}
