import MeshCore
import MeshCrypto

/// The fixed values of a link's framing. `Framing.md` in this target's documentation is the specification.
enum Framing {
  /// The size of the big-endian length before each Noise message, in bytes.
  static let lengthSize = 2
  /// The bytes that one read of the socket takes before the handshake ends. At that point, a dialler has sent 34 bytes
  /// and less than 66 of its second frame. With one more read, it is judged after 227 bytes at most, which is within
  /// the 256 of the specification.
  static let handshakeRead = 128
  /// The size of the flag before each piece, in bytes.
  static let flagSize = 1
  /// The bytes that a frame has in addition to its piece.
  static let overhead = flagSize + NoiseSession.tagSize
  /// The bytes of the longest piece. Every piece of a message except the last has exactly this size.
  static let piece = NoiseSession.maximumMessage - overhead
  /// The bytes of the longest mesh message.
  static let message = Limits.message

  /// The bytes that are reserved for a message with more than one piece. The longest frequent messages contain a chunk
  /// of an asset. The framing doesn't fix this value.
  static let usualMessage = Limits.chunk + (1 << 10)

  enum Flag: UInt8 {
    case more = 0
    case last = 1
  }
}
