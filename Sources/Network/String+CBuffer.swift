extension String {
  /// The text that a C function has left in a buffer, up to its final zero byte.
  init(cBuffer buffer: [CChar]) {
    self.init(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
