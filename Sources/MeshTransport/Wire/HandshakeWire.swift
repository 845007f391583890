import MeshCore
import MeshCrypto
import NIOCore

/// A link until its session begins, as a value: it takes bytes and returns steps.
struct HandshakeWire {
  enum Step {
    case write(ByteBuffer)
    /// The handshake is complete. The wire of the session has the bytes that followed it.
    case established(SessionWire)
  }

  private var handshake: NoiseHandshake
  private var incoming = ByteBuffer()

  init(role: NoiseHandshake.Role, keys: DeviceKeys, randomness: any Randomness) {
    handshake = NoiseHandshake(role: role, keys: keys, randomness: randomness)
  }

  mutating func receive(_ bytes: ByteBuffer) { incoming.writeImmutableBuffer(bytes) }

  /// Returns the next step, or nil if more bytes are needed. Call it until it returns nil.
  mutating func next() throws(TransportError) -> Step? {
    while let size = handshake.expectedSize {
      guard let message = try frame(size) else { return nil }
      try Self.refusing { () throws(CryptoError) in try handshake.readMessage(message) }
    }
    if handshake.isComplete {
      let session = try Self.refusing { () throws(CryptoError) in try handshake.split() }
      return .established(SessionWire(session: session, incoming: incoming))
    }
    return .write(Self.framed(try Self.refusing { () throws(CryptoError) in try handshake.writeMessage() }))
  }

  /// Returns the peer's next message, which has `size` bytes, or nil until it is complete.
  private mutating func frame(_ size: Int) throws(TransportError) -> [UInt8]? {
    guard let length = incoming.getInteger(at: incoming.readerIndex, as: UInt16.self) else { return nil }
    guard length == size else {
      throw TransportError(.handshake, "the peer's handshake message announces \(length) bytes instead of \(size)")
    }
    guard incoming.readableBytes >= Framing.lengthSize + size else { return nil }
    incoming.moveReaderIndex(forwardBy: Framing.lengthSize)
    return incoming.readBytes(length: size)
  }

  private static func refusing<T>(_ step: () throws(CryptoError) -> T) throws(TransportError) -> T {
    do {
      return try step()
    } catch {
      throw TransportError(.handshake, "the handshake was refused: \(error.message)")
    }
  }

  private static func framed(_ message: [UInt8]) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.writeInteger(UInt16(message.count))
    buffer.writeBytes(message)
    return buffer
  }
}
