import MeshCore
import MeshCrypto
import NIOCore

@testable import MeshTransport

/// A link whose other end sends chosen bytes. Throws `Fault` if it does something forbidden.
enum FuzzedLink {
  struct Fault: Error {
    let description: String
  }

  private struct Fixed: Randomness {
    let value: UInt8
    func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: value, count: count) }
  }

  private static func wire(_ role: NoiseHandshake.Role) -> HandshakeWire {
    let value: UInt8 = role == .dialler ? 1 : 2
    return HandshakeWire(
      role: role, keys: DeviceKeys(randomness: Fixed(value: value)), randomness: Fixed(value: value + 10))
  }

  // MARK: The handshake

  /// One side, with its result.
  private struct Side {
    var wire: HandshakeWire
    var hasSession = false

    init(_ role: NoiseHandshake.Role) { wire = FuzzedLink.wire(role) }

    /// Returns the bytes that it sends next, or nil if it waits or has its session.
    mutating func write() throws -> [UInt8]? {
      guard !hasSession, let step = try wire.next() else { return nil }
      switch step {
      case .established:
        hasSession = true
        return nil
      case .write(let buffer): return Array(buffer.readableBytesView)
      }
    }
  }

  /// Runs an honest handshake whose bytes are changed in transit with the bytes of the mask. It ends in two sessions if
  /// nothing was changed, and only then.
  static func handshake(_ mask: [UInt8]) throws {
    var (dialler, listener) = (Side(.dialler), Side(.listener))
    var rest = mask[...]
    var isChanged = false
    do {
      for _ in 0..<3 {
        while let bytes = try dialler.write() { listener.wire.receive(changed(bytes, by: &rest, &isChanged)) }
        while let bytes = try listener.write() { dialler.wire.receive(changed(bytes, by: &rest, &isChanged)) }
      }
    } catch let error as TransportError {
      guard isChanged, error.code == .handshake else {
        throw Fault(description: "an honest handshake ends with \(error)")
      }
      return
    }
    // The dialler has its session when it sends its last message. It learns from the first frame whether that message
    // arrived.
    guard listener.hasSession != isChanged, dialler.hasSession || isChanged else {
      throw Fault(description: "changed: \(isChanged), session of the listener: \(listener.hasSession)")
    }
  }

  private static func changed(
    _ bytes: [UInt8], by mask: inout ArraySlice<UInt8>, _ isChanged: inout Bool
  ) -> ByteBuffer {
    var bytes = bytes
    for index in bytes.indices {
      guard let change = mask.popFirst(), change != 0 else { continue }
      bytes[index] ^= change
      isChanged = true
    }
    return ByteBuffer(bytes: bytes)
  }

  /// Gives bytes of a stranger to both roles.
  static func garbage(_ bytes: [UInt8]) throws {
    for role in [NoiseHandshake.Role.dialler, .listener] {
      var wire = wire(role)
      wire.receive(ByteBuffer(bytes: bytes))
      do {
        while let step = try wire.next() {
          if case .established = step { throw Fault(description: "a stranger's bytes make a session") }
        }
      } catch let error as TransportError {
        guard error.code == .handshake else { throw Fault(description: "\(error)") }
      }
    }
  }

  // MARK: Frames

  /// Both sides of one session. Each use gets a copy.
  private static let session = Result { () throws -> (NoiseSession, NoiseSession) in
    var dialler = NoiseHandshake(
      role: .dialler, keys: DeviceKeys(randomness: Fixed(value: 1)), randomness: Fixed(value: 11))
    var listener = NoiseHandshake(
      role: .listener, keys: DeviceKeys(randomness: Fixed(value: 2)), randomness: Fixed(value: 12))
    try listener.readMessage(try dialler.writeMessage())
    try dialler.readMessage(try listener.writeMessage())
    try listener.readMessage(try dialler.writeMessage())
    return (try dialler.split(), try listener.split())
  }

  /// Receives frames that a peer with a session chose, in pieces of any size, and then unencrypted bytes. Each frame of
  /// the input begins with a size of two bytes, whose low byte is also the number of bytes that arrive at once. The
  /// encrypted contents follow: up to 255 bytes of the input, and zeros. There are at most eight frames.
  static func frames(_ bytes: [UInt8]) throws {
    let (dialler, listener) = try session.get()
    var sender = dialler
    var wire = SessionWire(session: listener)
    var rest = bytes[...]
    var stream: [UInt8] = []
    var step = 1
    for _ in 0..<8 {
      guard let high = rest.popFirst(), let low = rest.popFirst(), high < 0xff else { break }
      let size = min(Int(high) << 8 | Int(low), NoiseSession.maximumMessage - NoiseSession.tagSize)
      let chosen = rest.prefix(min(size, 255))
      rest = rest.dropFirst(chosen.count)
      let sealed = try sender.encrypt(Array(chosen) + [UInt8](repeating: 0, count: size - chosen.count))
      stream += [UInt8(sealed.count >> 8), UInt8(sealed.count & 0xff)] + sealed
      step = max(1, Int(low) * 64)
    }
    stream += rest
    do {
      for start in stride(from: 0, to: stream.count, by: step) {
        wire.receive(ByteBuffer(bytes: stream[start..<min(start + step, stream.count)]))
        while let message = try wire.next() {
          guard message.count <= Limits.message else { throw Fault(description: "a message of \(message.count) bytes") }
        }
      }
    } catch let error as TransportError {
      guard error.code == .framing else { throw Fault(description: "\(error)") }
    }
  }
}
