import MeshCore
import MeshCrypto

/// What the framing of a link fixes. `Framing.md` in this target's documentation is the specification.
enum Framing {
  /// The big-endian length before each Noise message.
  static let lengthSize = 2
  /// Bytes that one read of the socket takes before the handshake ends. A dialler has sent 34 then and less than 66 of
  /// its second frame, so with one read more it is judged after 227 at most: within the 256 of the specification.
  static let handshakeRead = 128
  /// The flag before each piece.
  static let flagSize = 1
  /// What a frame has beside its piece.
  static let overhead = flagSize + NoiseSession.tagSize
  /// Bytes of the longest piece: every piece but the last of a message has exactly so many.
  static let piece = NoiseSession.maximumMessage - overhead
  /// Bytes of the longest mesh message.
  static let message = Limits.message

  /// What is made room for when a message has more than one piece: the longest messages that there are many of have a chunk of an
  /// asset. Our own choice.
  static let usualMessage = Limits.chunk + (1 << 10)

  enum Flag: UInt8 {
    case more = 0
    case last = 1
  }
}
