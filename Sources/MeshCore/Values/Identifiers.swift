/// A 32-byte identifier. The kind is a phantom type, so that a zone's id can't be used as a device's.
public struct Identifier<Kind: IdentifierKind>: Hashable, Comparable, Sendable {
  private let a: UInt64
  private let b: UInt64
  private let c: UInt64
  private let d: UInt64

  public static var size: Int { 32 }

  /// 32 zero bytes, which identify nothing.
  public static var zero: Identifier { Identifier(a: 0, b: 0, c: 0, d: 0) }

  private init(a: UInt64, b: UInt64, c: UInt64, d: UInt64) { (self.a, self.b, self.c, self.d) = (a, b, c, d) }

  /// Creates an identifier. Returns nil unless there are exactly 32 bytes.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.size else { return nil }
    func word(_ at: Int) -> UInt64 {
      bytes[at..<at + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    (a, b, c, d) = (word(0), word(8), word(16), word(24))
  }

  public var bytes: [UInt8] {
    var writer = ByteWriter(capacity: Self.size)
    write(to: &writer)
    return writer.bytes
  }

  public func write(to writer: inout ByteWriter) {
    writer.uint64(a)
    writer.uint64(b)
    writer.uint64(c)
    writer.uint64(d)
  }

  public init(from reader: inout ByteReader) throws(DecodingError) {
    a = try reader.uint64()
    b = try reader.uint64()
    c = try reader.uint64()
    d = try reader.uint64()
  }

  /// The first four bytes, big-endian.
  var beginning: UInt64 { a >> 32 }

  public static func < (left: Self, right: Self) -> Bool {
    left.a == right.a
      ? (left.b, left.c, left.d) < (right.b, right.c, right.d) : left.a < right.a
  }
}

public protocol IdentifierKind: Sendable {
  /// The word that displayed ids of this kind begin with.
  static var prefix: String { get }
}

public enum AccountKind: IdentifierKind { public static var prefix: String { "account" } }
public enum DeviceKind: IdentifierKind { public static var prefix: String { "device" } }
public enum ZoneKind: IdentifierKind { public static var prefix: String { "zone" } }
public enum ChangeSetKind: IdentifierKind { public static var prefix: String { "changeset" } }
public enum EpochKind: IdentifierKind { public static var prefix: String { "epoch" } }
public enum ControlKind: IdentifierKind { public static var prefix: String { "control" } }

/// BLAKE2b-256 of the account's genesis.
public typealias AccountID = Identifier<AccountKind>
/// The device's Ed25519 public key.
public typealias DeviceID = Identifier<DeviceKind>
/// BLAKE2b-256(owner's account id ‖ 32 random bytes).
public typealias ZoneID = Identifier<ZoneKind>
/// BLAKE2b-256(header ‖ ciphertext) of a change set.
public typealias ChangeSetID = Identifier<ChangeSetKind>
/// BLAKE2b-256 of the epoch's record.
public typealias EpochID = Identifier<EpochKind>
/// BLAKE2b-256 of a control record without its signature.
public typealias ControlID = Identifier<ControlKind>

/// One uninterrupted run of a device's numbering in a zone: 64 random bits.
public struct InstanceID: Hashable, Comparable, Sendable {
  public let value: UInt64
  public init(_ value: UInt64) { self.value = value }
  public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

extension InstanceID {
  /// Creates the instance of a participant's author, which cites a grant. Its first half comes from the grant's id. The
  /// cutoff can therefore be found even when none of the author's change sets is available any more.
  public init(under grant: ControlID, random: UInt32) {
    self.init(Self.half(of: grant) << 32 | UInt64(random))
  }

  public func isUnder(_ grant: ControlID) -> Bool { half == Self.half(of: grant) }

  var half: UInt64 { value >> 32 }

  static func half(of grant: ControlID) -> UInt64 { grant.beginning }
}

/// The writer of a change set: a device and its instance. A version vector has one entry for each author.
public struct Author: Hashable, Comparable, Sendable {
  public let device: DeviceID
  public let instance: InstanceID

  public init(device: DeviceID, instance: InstanceID) {
    self.device = device
    self.instance = instance
  }

  public static func < (left: Self, right: Self) -> Bool {
    left.device == right.device ? left.instance < right.instance : left.device < right.device
  }

  public func write(to writer: inout ByteWriter) {
    device.write(to: &writer)
    writer.uint64(instance.value)
  }

  public init(from reader: inout ByteReader) throws(DecodingError) {
    device = try DeviceID(from: &reader)
    instance = InstanceID(try reader.uint64())
  }
}
