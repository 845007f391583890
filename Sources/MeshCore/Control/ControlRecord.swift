/// One signed act in a zone's control log. Records are not encrypted. Devices send them only inside sessions, to
/// accounts that the zone lists.
package struct ControlRecord: Hashable, Sendable {
  /// The version in the first byte of the encoding.
  package static let version: UInt8 = 1

  /// The zone whose log the record belongs to.
  package let zone: ZoneID
  /// The tips of the log as its author knew them, ascending. Only the genesis record has none.
  package let parents: [ControlID]
  /// The device that signed the record.
  package let author: DeviceID
  /// The author's numbers are 1, 2, 3 and so on.
  package let number: UInt64
  /// The author's record before this one, or nil for number 1.
  package let previous: ControlID?
  /// The act that the record signs.
  package let act: ControlAct
  /// The Ed25519 signature by `author`, 64 bytes.
  package let signature: [UInt8]
  /// The BLAKE2b-256 hash of the encoding without the signature.
  package let id: ControlID

  /// Makes and signs a record. Throws if the act is too long for a record.
  ///
  /// If there are more than `Limits.controlHeads` parents, only the first ones are named. The others stay tips, for the
  /// next record to name. `ZoneState.heads` lists tips in the order of their importance.
  package init(
    zone: ZoneID, parents: [ControlID], number: UInt64, previous: ControlID?, act: ControlAct,
    secrets: any DeviceSecrets, _ cryptography: any Cryptography
  ) throws(FormatError) {
    guard let author = DeviceID(secrets.signingKey) else { throw .invalid("a device key of 32 bytes") }
    self.zone = zone
    self.parents = Set(parents.prefix(Limits.controlHeads)).sorted()
    self.author = author
    self.number = number
    self.previous = previous
    self.act = act
    let unsigned = Self.unsigned(zone, self.parents, author, number, previous, act)
    guard let id = ControlID(cryptography.hash(unsigned)) else { throw .invalid("a hash of 32 bytes") }
    self.id = id
    signature = secrets.sign(signedBytes(.control, unsigned))
    size = unsigned.count + signature.count
    guard size <= Limits.controlRecord else { throw .limit("control record") }
  }

  private static func unsigned(
    _ zone: ZoneID, _ parents: [ControlID], _ author: DeviceID, _ number: UInt64, _ previous: ControlID?,
    _ act: ControlAct
  ) -> [UInt8] {
    var writer = ByteWriter()
    writer.byte(version)
    zone.write(to: &writer)
    writer.list(parents) { $1.write(to: &$0) }
    author.write(to: &writer)
    writer.varint(number)
    writer.raw(previous?.bytes ?? [UInt8](repeating: 0, count: 32))
    act.write(to: &writer)
    return writer.bytes
  }

  /// The records that this one names: its parents and its predecessor.
  package var leading: [ControlID] { previous.map { parents + [$0] } ?? parents }

  /// The length of the encoding in bytes.
  package let size: Int

  /// The wire form: version, zone, parents, author, number, predecessor, act, signature.
  package var encoded: [UInt8] { Self.unsigned(zone, parents, author, number, previous, act) + signature }

  /// Returns whether `author` signed the record.
  package func isSigned(_ cryptography: any Cryptography) -> Bool {
    cryptography.verify(
      signature, of: signedBytes(.control, Self.unsigned(zone, parents, author, number, previous, act)),
      by: author.bytes)
  }

  /// Parses a record without checking its signature.
  package init(_ bytes: [UInt8], _ cryptography: any Cryptography) throws(FormatError) {
    guard bytes.count <= Limits.controlRecord else { throw .limit("control record") }
    var reader = ByteReader(bytes)
    guard try reader.byte() == Self.version else { throw .unknown("control record version") }
    zone = try ZoneID(from: &reader)
    parents = try reader.list(Limits.controlHeads, "parents") { (reader: inout ByteReader) throws(FormatError) in
      try ControlID(from: &reader)
    }
    guard zip(parents, parents.dropFirst()).allSatisfy({ $0 < $1 }) else {
      throw .invalid("parents in ascending order")
    }
    author = try DeviceID(from: &reader)
    number = try reader.varint()
    let previous = try ControlID(from: &reader)
    self.previous = previous.bytes.allSatisfy { $0 == 0 } ? nil : previous
    guard number > 0, (number == 1) == (self.previous == nil) else {
      throw .invalid("just number 1 has no predecessor")
    }
    act = try ControlAct(from: &reader, cryptography)
    let signed = reader.consumed
    signature = try reader.raw(64)
    size = bytes.count
    try reader.end()
    guard let id = ControlID(cryptography.hash(Array(bytes[..<signed]))) else { throw .invalid("a hash of 32 bytes") }
    self.id = id
  }
}
