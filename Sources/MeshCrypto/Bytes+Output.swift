extension [UInt8] {
  /// Creates an array of `count` bytes, all of which a C function sets.
  init(count: Int, writtenBy write: (UnsafeMutablePointer<UInt8>) -> Void) {
    self.init(unsafeUninitializedCapacity: count) { buffer, initialized in
      guard let start = buffer.baseAddress else { return }
      write(start)
      initialized = count
    }
  }
}
