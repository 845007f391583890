import MeshCrypto
import NIOCore

/// A link after its session began, as a value: it turns bytes into mesh messages, and mesh messages into bytes.
struct SessionWire {
  private var session: NoiseSession
  private var incoming: ByteBuffer
  /// The pieces of a message whose last piece has not arrived.
  private var assembled: [UInt8] = []

  init(session: NoiseSession, incoming: ByteBuffer = ByteBuffer()) {
    self.session = session
    self.incoming = incoming
  }

  var handshakeHash: [UInt8] { session.handshakeHash }
  var remoteStatic: [UInt8] { session.remoteStatic }

  mutating func receive(_ bytes: ByteBuffer) {
    if incoming.readableBytes == 0 {
      incoming = bytes
    } else {
      incoming.discardReadBytes()
      incoming.writeImmutableBuffer(bytes)
    }
  }

  /// Returns the next whole message, or nil if more bytes are needed. Call it until it returns nil.
  mutating func next() throws(TransportError) -> [UInt8]? {
    while let length = incoming.getInteger(at: incoming.readerIndex, as: UInt16.self).map(Int.init) {
      guard length > Framing.overhead else {
        throw TransportError(
          .framing, "the peer's frame announces \(length) bytes; a frame has over \(Framing.overhead)")
      }
      guard incoming.readableBytes >= Framing.lengthSize + length else { return nil }
      incoming.moveReaderIndex(forwardBy: Framing.lengthSize)
      try Self.decrypt(length, of: &incoming, with: &session)
      if let message = try takePiece(length - Framing.overhead) { return message }
    }
    return nil
  }

  /// Returns the frames of a message. Throws `.messageSize` if it is empty or too long.
  mutating func frames(of message: [UInt8]) throws(TransportError) -> ByteBuffer {
    try Self.checkSize(message.count)
    var buffer = ByteBuffer()
    let pieces = (message.count + Framing.piece - 1) / Framing.piece
    buffer.reserveCapacity(message.count + pieces * (Framing.lengthSize + Framing.overhead))
    for start in stride(from: 0, to: message.count, by: Framing.piece) {
      let end = min(start + Framing.piece, message.count)
      try write(message[start..<end], flag: end == message.count ? .last : .more, to: &buffer)
    }
    return buffer
  }

  static func checkSize(_ count: Int) throws(TransportError) {
    guard (1...Framing.message).contains(count) else {
      throw TransportError(.messageSize, "a message has 1 to \(Framing.message) bytes, this one has \(count)")
    }
  }

  private mutating func write(
    _ piece: ArraySlice<UInt8>, flag: Framing.Flag, to buffer: inout ByteBuffer
  ) throws(TransportError) {
    buffer.writeInteger(UInt16(piece.count + Framing.overhead))
    let start = buffer.readableBytes
    buffer.writeInteger(flag.rawValue)
    buffer.writeBytes(piece)
    buffer.writeRepeatingByte(0, count: NoiseSession.tagSize)
    do {
      try buffer.withUnsafeMutableReadableBytes { bytes throws(CryptoError) in
        try session.encrypt(inPlace: UnsafeMutableRawBufferPointer(rebasing: bytes[start...]))
      }
    } catch {
      throw TransportError(.closed, "the session can send no more: \(error.message)")
    }
  }

  /// Decrypts a frame. It is static, because two properties change at once.
  private static func decrypt(
    _ length: Int, of incoming: inout ByteBuffer, with session: inout NoiseSession
  ) throws(TransportError) {
    do {
      try incoming.withUnsafeMutableReadableBytes { bytes throws(CryptoError) in
        _ = try session.decrypt(inPlace: UnsafeMutableRawBufferPointer(rebasing: bytes[..<length]))
      }
    } catch {
      throw TransportError(.framing, "the peer's frame was refused: \(error.message)")
    }
  }

  /// Removes a flag, a piece of `count` bytes and the used tag from the decrypted bytes. Returns the message if it is
  /// complete.
  private mutating func takePiece(_ count: Int) throws(TransportError) -> [UInt8]? {
    guard let flag = incoming.readInteger(as: UInt8.self).flatMap(Framing.Flag.init),
      let piece = incoming.readSlice(length: count)
    else { throw TransportError(.framing, "the peer's frame has an unknown flag") }
    incoming.moveReaderIndex(forwardBy: NoiseSession.tagSize)
    guard assembled.count + count <= Framing.message else {
      throw TransportError(.framing, "the peer's message is over \(Framing.message) bytes")
    }
    guard flag == .last || count == Framing.piece else {
      throw TransportError(
        .framing, "the peer's piece has \(count) bytes; only the last may have under \(Framing.piece)")
    }
    if flag == .more, assembled.isEmpty { assembled.reserveCapacity(Framing.usualMessage) }
    assembled.append(contentsOf: piece.readableBytesView)
    guard flag == .last else { return nil }
    defer { assembled = [] }
    return assembled
  }
}
