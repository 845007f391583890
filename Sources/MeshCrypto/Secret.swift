/// Bytes that must not reach a log, an error or a dump by accident. Printing this value prints a placeholder.
struct Secret: Sendable, CustomStringConvertible, CustomReflectable {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var description: String { "(secret)" }
  var customMirror: Mirror { Mirror(self, children: []) }
}
