@testable import MeshCore

/// A wire type as the tests that hold for every one of them see it.
struct WireForm: Sendable, CustomStringConvertible {
  let description: String
  /// The encoding of a random value.
  let random: @Sendable (inout Generator) throws -> [UInt8]
  /// Whether a random value is what its encoding decodes to.
  let roundTrips: @Sendable (inout Generator) throws -> Bool
  /// Decodes and encodes again.
  let again: @Sendable ([UInt8]) throws -> [UInt8]
  /// False of texts that people copy: case and blanks around do not matter.
  var isCanonical: Bool { !description.hasSuffix(" invite") }

  struct Fault: Error, CustomStringConvertible {
    let description: String
  }

  /// Whether bytes from anywhere are accepted. Throws where a decoder does not what every decoder must: refuse with its typed
  /// error, or accept what it would write in the same bytes.
  func accepts(_ bytes: [UInt8]) throws(Fault) -> Bool {
    do {
      let written = try again(bytes)
      guard !isCanonical || written == bytes else { throw Fault(description: "\(self) has two encodings: \(bytes)") }
      return true
    } catch let fault as Fault {
      throw fault
    } catch {
      guard error is FormatError || error is InviteFault else { throw Fault(description: "\(self): \(error)") }
      return false
    }
  }

  init<T: Equatable & SendableMetatype>(
    _ name: String, make: @escaping @Sendable (inout Generator) throws -> T,
    write: @escaping @Sendable (T) -> [UInt8], read: @escaping @Sendable ([UInt8]) throws -> T
  ) {
    description = name
    random = { write(try make(&$0)) }
    roundTrips = { generator in
      let value = try make(&generator)
      return try read(write(value)) == value
    }
    again = { write(try read($0)) }
  }

  /// A type that writes itself into a writer and reads itself from a reader.
  init<T: Equatable & SendableMetatype>(
    _ name: String, make: @escaping @Sendable (inout Generator) throws -> T,
    write: @escaping @Sendable (T, inout ByteWriter) -> Void,
    read: @escaping @Sendable (inout ByteReader) throws -> T
  ) {
    self.init(
      name, make: make,
      write: { value in
        var writer = ByteWriter()
        write(value, &writer)
        return writer.bytes
      },
      read: { bytes in
        var reader = ByteReader(bytes)
        let value = try read(&reader)
        try reader.end()
        return value
      })
  }

  private struct Headed: Equatable {
    let header: ChangeSetHeader
    let size: Int
  }

  /// Any: bodies are read as written by this author, which is not in their bytes.
  private static let author = Author(device: Generator.fixedDevice, instance: InstanceID(7))

  static let all: [WireForm] = [
    WireForm("value", make: { $0.value() }, write: { $0.write(to: &$1) }, read: { try Value(from: &$0) }),
    WireForm("author", make: { $0.author() }, write: { $0.write(to: &$1) }, read: { try Author(from: &$0) }),
    WireForm("vector", make: { $0.vector() }, write: { $0.write(to: &$1) }, read: { try VersionVector(from: &$0) }),
    WireForm("context", make: { $0.context() }, write: { $0.write(to: &$1) }, read: { try CausalContext(from: &$0) }),
    WireForm(
      "header", make: { Headed(header: $0.header(), size: $0.below(Limits.changeSet)) },
      write: { $0.header.write(to: &$1, bodySize: $0.size) },
      read: {
        var size = 0
        let header = try ChangeSetHeader(from: &$0, bodySize: &size)
        return Headed(header: header, size: size)
      }),
    WireForm(
      "body", make: { $0.body(author) }, write: { $0.encoded(author: author) },
      read: { try ChangeSetBody($0, author: author) }),
    WireForm(
      "change set",
      make: { generator in
        guard let key = EpochKey(generator.bytes(32)) else { preconditionFailure("32 bytes make a key") }
        return try ChangeSet(
          generator.header(), body: generator.bytes(generator.below(300)), key: key,
          secrets: StubSecrets(signingKey: fill(1)), with: StubCryptography())
      },
      write: \.bytes, read: { try ChangeSet($0, with: StubCryptography()) }),
    WireForm(
      "signed header", make: { $0.signedHeader($0.header()) }, write: { $0.write(to: &$1) },
      read: { try SignedHeader(from: &$0, StubCryptography()) }),
    WireForm(
      "fork proof", make: { $0.forkProof() }, write: { $0.write(to: &$1) },
      read: { try ForkProof(from: &$0, StubCryptography()) }),
    WireForm(
      "control record", make: { try $0.record() }, write: \.encoded,
      read: { try ControlRecord($0, StubCryptography()) }),
    WireForm(
      "account genesis", make: { $0.genesis() }, write: { $0.write(to: &$1) }, read: { try AccountGenesis(from: &$0) }),
    WireForm(
      "certificate request", make: { $0.request() }, write: { $0.write(to: &$1) },
      read: { try CertificateRequest(from: &$0) }),
    WireForm("device claim", make: { $0.claim() }, write: { $0.write(to: &$1) }, read: { try DeviceClaim(from: &$0) }),
    WireForm(
      "certificate", make: { $0.certificate() }, write: { $0.write(to: &$1) }, read: { try Certificate(from: &$0) }),
    WireForm(
      "revocation", make: { $0.revocation($0.certificate()) }, write: { $0.write(to: &$1) },
      read: { try Revocation(from: &$0) }),
    WireForm(
      "account state", make: { $0.accountState() }, write: { $0.write(to: &$1) },
      read: { try AccountState(from: &$0, StubCryptography()) }),
    WireForm("hello", make: { $0.hello() }, write: { $0.write(to: &$1) }, read: { try Hello(from: &$0) }),
    WireForm(
      "schema rules", make: { try $0.rules() }, write: { $0.write(to: &$1) }, read: { try SchemaRules(from: &$0) }),
    WireForm(
      "schema", make: { $0.schema() }, write: { $0.write(to: &$1) }, read: { try SchemaDescription(from: &$0) }),
    WireForm(
      "acknowledgement", make: { $0.acknowledgement() }, write: { $0.write(to: &$1) },
      read: { try Acknowledgement(from: &$0) }),
    WireForm(
      "message", make: { $0.message(kind: $0.below(Generator.messageKinds)) }, write: \.encoded,
      read: {
        guard let message = try Message.decode($0) else { throw FormatError.unknown("tag") }
        return message
      }),
    WireForm(
      "device invite", make: { $0.deviceInvite() }, write: { Array($0.text.utf8) },
      read: { try DeviceInviteContent(text: String(decoding: $0, as: UTF8.self)) }),
    WireForm(
      "share invite", make: { $0.shareInvite() }, write: { Array($0.text.utf8) },
      read: { try ShareInviteContent(text: String(decoding: $0, as: UTF8.self)) }),
  ]
}

extension Generator {
  static var fixedDevice: DeviceID {
    var generator = Generator(seed: 1)
    return generator.identifier()
  }
}
