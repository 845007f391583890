import MeshCore
import Testing

@testable import MeshCrypto

/// Compares with the Python package noiseprotocol, an independent implementation.
@Suite(.timeLimit(.minutes(2)))
struct NoiseInteropTests {
  @Test("the dialler speaks with an independent listener") func theDiallerSpeaksWithAnIndependentListener() throws {
    let peer = try PythonPeer(role: "listener", privateKey: repeated(9))
    var handshake = side(.dialler, 1)
    try peer.send(try handshake.writeMessage())
    try handshake.readMessage(try peer.receive())
    try peer.send(try handshake.writeMessage())
    try converse(try handshake.split(), with: peer)
  }

  @Test("the listener speaks with an independent dialler") func theListenerSpeaksWithAnIndependentDialler() throws {
    let peer = try PythonPeer(role: "dialler", privateKey: repeated(9))
    var handshake = side(.listener, 1)
    try handshake.readMessage(try peer.receive())
    try peer.send(try handshake.writeMessage())
    try handshake.readMessage(try peer.receive())
    try converse(try handshake.split(), with: peer)
  }

  private func converse(_ session: NoiseSession, with peer: PythonPeer) throws {
    var session = session
    #expect(session.remoteStatic == X25519(secret: repeated(9)).publicKey)
    #expect(try peer.receive() == session.handshakeHash + keys(1).sessionKey)
    for size in [0, 1, 300, NoiseSession.maximumMessage - NoiseSession.tagSize] {
      try peer.send(try session.encrypt(counting(size)))
      #expect(try session.decrypt(try peer.receive()) == counting(size).reversed())
    }
  }
}
