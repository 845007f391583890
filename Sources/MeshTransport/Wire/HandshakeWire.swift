import MeshCore
import MeshCrypto
import NIOCore

/// A link up to its session, as a value: bytes in, steps out.
struct HandshakeWire {
  enum Step {
    case write(ByteBuffer)
    /// The handshake is complete; the wire of the session has whatever came behind it.
    case established(SessionWire)
  }

  private var handshake: NoiseHandshake
  private var incoming = ByteBuffer()
  private var received = 0

  init(role: NoiseHandshake.Role, keys: DeviceKeys, randomness: any Randomness) {
    handshake = NoiseHandshake(role: role, keys: keys, randomness: randomness)
  }

  mutating func receive(_ bytes: ByteBuffer) {
    received += bytes.readableBytes
    incoming.writeImmutableBuffer(bytes)
  }

  /// What is to be done next, or nil where more bytes are needed. To be called until nil.
  mutating func next() throws(TransportError) -> Step? {
    do {
      while let size = handshake.expectedSize {
        guard let message = try frame(size) else { return nil }
        try handshake.readMessage(message)
      }
      if handshake.isComplete {
        return .established(SessionWire(session: try handshake.split(), incoming: incoming))
      }
      return .write(Self.framed(try handshake.writeMessage()))
    } catch let error as CryptoError {
      throw TransportError(.handshake, "the handshake was refused: \(error.message)")
    } catch let error as TransportError {
      throw error
    } catch {
      throw TransportError(.handshake, "the handshake was refused")
    }
  }

  /// The peer's next message, which has `size` bytes; nil as long as it is not all here.
  private mutating func frame(_ size: Int) throws(TransportError) -> [UInt8]? {
    if let length = incoming.getInteger(at: incoming.readerIndex, as: UInt16.self) {
      guard length == size else {
        throw TransportError(.handshake, "the peer's handshake message announces \(length) bytes instead of \(size)")
      }
      if incoming.readableBytes >= Framing.lengthSize + size {
        incoming.moveReaderIndex(forwardBy: Framing.lengthSize)
        return incoming.readBytes(length: size)
      }
    }
    guard received <= Framing.handshakeBytes else {
      throw TransportError(.handshake, "the peer sent over \(Framing.handshakeBytes) bytes without a handshake")
    }
    return nil
  }

  private static func framed(_ message: [UInt8]) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.writeInteger(UInt16(message.count))
    buffer.writeBytes(message)
    return buffer
  }
}
