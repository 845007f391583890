/// A 32-byte identifier. The kind is a phantom type, so that a zone's id can't be used as a device's.
package struct Identifier<Kind: IdentifierKind>: Hashable, Comparable, Sendable {
  private let a: UInt64
  private let b: UInt64
  private let c: UInt64
  private let d: UInt64

  /// The number of bytes of each identifier.
  package static var size: Int { 32 }

  /// 32 zero bytes, which identify nothing.
  package static var zero: Identifier { Identifier(a: 0, b: 0, c: 0, d: 0) }

  private init(a: UInt64, b: UInt64, c: UInt64, d: UInt64) { (self.a, self.b, self.c, self.d) = (a, b, c, d) }

  /// Creates an identifier. Returns nil unless there are exactly 32 bytes.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.size else { return nil }
    func word(_ at: Int) -> UInt64 {
      bytes[at..<at + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    (a, b, c, d) = (word(0), word(8), word(16), word(24))
  }

  /// The 32 bytes.
  package var bytes: [UInt8] {
    var writer = ByteWriter(capacity: Self.size)
    write(to: &writer)
    return writer.bytes
  }

  /// Writes the 32 bytes.
  package func write(to writer: inout ByteWriter) {
    writer.uint64(a)
    writer.uint64(b)
    writer.uint64(c)
    writer.uint64(d)
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    a = try reader.uint64()
    b = try reader.uint64()
    c = try reader.uint64()
    d = try reader.uint64()
  }

  /// The first four bytes, big-endian.
  var beginning: UInt64 { a >> 32 }

  package static func < (left: Self, right: Self) -> Bool {
    left.a == right.a
      ? (left.b, left.c, left.d) < (right.b, right.c, right.d) : left.a < right.a
  }
}

/// The kind of an identifier: the word before its displayed text.
package protocol IdentifierKind: Sendable {
  /// The word that displayed ids of this kind begin with.
  static var prefix: String { get }
}

/// The kind of `AccountID`.
package enum AccountKind: IdentifierKind { package static var prefix: String { "account" } }
/// The kind of `DeviceID`.
package enum DeviceKind: IdentifierKind { package static var prefix: String { "device" } }
/// The kind of `ZoneID`.
package enum ZoneKind: IdentifierKind { package static var prefix: String { "zone" } }
/// The kind of `ChangeSetID`.
package enum ChangeSetKind: IdentifierKind { package static var prefix: String { "changeset" } }
/// The kind of `EpochID`.
package enum EpochKind: IdentifierKind { package static var prefix: String { "epoch" } }
/// The kind of `ControlID`.
package enum ControlKind: IdentifierKind { package static var prefix: String { "control" } }

/// BLAKE2b-256 of the account's genesis.
package typealias AccountID = Identifier<AccountKind>
/// The device's Ed25519 public key.
package typealias DeviceID = Identifier<DeviceKind>
/// BLAKE2b-256(owner's account id ‖ 32 random bytes).
package typealias ZoneID = Identifier<ZoneKind>
/// BLAKE2b-256(header ‖ ciphertext) of a change set.
package typealias ChangeSetID = Identifier<ChangeSetKind>
/// BLAKE2b-256 of the epoch's record.
package typealias EpochID = Identifier<EpochKind>
/// BLAKE2b-256 of a control record without its signature.
package typealias ControlID = Identifier<ControlKind>

/// One uninterrupted run of a device's numbering in a zone: 64 random bits.
package struct InstanceID: Hashable, Comparable, Sendable {
  /// The 64 bits.
  package let value: UInt64
  /// Creates an instance from its 64 bits.
  package init(_ value: UInt64) { self.value = value }
  package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

extension InstanceID {
  /// Creates the instance of a participant's author, which cites a grant. Its first half comes from the grant's id. The
  /// cutoff can therefore be found even when none of the author's change sets is available any more.
  package init(under grant: ControlID, random: UInt32) {
    self.init(Self.half(of: grant) << 32 | UInt64(random))
  }

  /// Returns whether the first half comes from the grant's id.
  package func isUnder(_ grant: ControlID) -> Bool { half == Self.half(of: grant) }

  var half: UInt64 { value >> 32 }

  static func half(of grant: ControlID) -> UInt64 { grant.beginning }
}

/// The writer of a change set: a device and its instance. A version vector has one entry for each author.
package struct Author: Hashable, Comparable, Sendable {
  /// The device that signs.
  package let device: DeviceID
  /// The run of the device's numbering.
  package let instance: InstanceID

  package init(device: DeviceID, instance: InstanceID) {
    self.device = device
    self.instance = instance
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.device == right.device ? left.instance < right.instance : left.device < right.device
  }

  /// Writes the device's 32 bytes, then the instance's 8 bytes, big-endian.
  package func write(to writer: inout ByteWriter) {
    device.write(to: &writer)
    writer.uint64(instance.value)
  }

  package init(from reader: inout ByteReader) throws(FormatError) {
    device = try DeviceID(from: &reader)
    instance = InstanceID(try reader.uint64())
  }
}
