import NIOCore

@testable import MeshTransport

extension HandshakeWire.Step {
  var written: ByteBuffer? { if case .write(let bytes) = self { bytes } else { nil } }
  var session: SessionWire? { if case .established(let wire) = self { wire } else { nil } }
}

extension Optional where Wrapped == HandshakeWire.Step {
  var isNothing: Bool { if case .none = self { true } else { false } }
}
