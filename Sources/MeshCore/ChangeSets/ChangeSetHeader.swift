/// The part of a change set that carriers can read. It is signed but not encrypted.
package struct ChangeSetHeader: Hashable, Sendable {
  /// The version in the first byte of the encoding.
  package static let version: UInt8 = 1

  /// The zone whose records the change set changes.
  package var zone: ZoneID
  /// The device and the instance that signed it.
  package var author: Author
  /// The number: 1, 2, 3 and so on for each zone and author, without gaps.
  package var number: UInt64
  /// The author's change set before this one in the zone, or nil for number 1.
  package var previous: ChangeSetID?
  /// The control record that lets the author write. Only number 1 has it, in the place of `previous`. Nil (32 zero
  /// bytes) if the zone is the account's own.
  package var citation: ControlID?
  /// The time of signing. It increases strictly for each author, and no stamp in the change set is later.
  package var time: HybridTime
  /// The epoch whose key encrypts the body.
  package var epoch: EpochID
  /// The place of the change set in its unit.
  package var part: Part

  /// A change set's position in its unit.
  package struct Part: Hashable, Sendable {
    /// The place within the unit: 0, 1, 2 and so on.
    package var index: UInt64
    /// The number of parts that the author planned when the unit began, for showing progress. Only `isFinal` ends a
    /// unit.
    package var planned: UInt64
    /// True in the last part of a unit. Without that part, the unit isn't merged.
    package var isFinal: Bool

    package init(index: UInt64, planned: UInt64, isFinal: Bool) {
      self.index = index
      self.planned = planned
      self.isFinal = isFinal
    }

    /// The part of a unit that is a single change set.
    package static let only = Part(index: 0, planned: 1, isFinal: true)
  }

  package init(
    zone: ZoneID, author: Author, number: UInt64, previous: ChangeSetID?, citation: ControlID? = nil,
    time: HybridTime, epoch: EpochID, part: Part
  ) {
    self.zone = zone
    self.author = author
    self.number = number
    self.previous = previous
    self.citation = number == 1 ? citation : nil
    self.time = time
    self.epoch = epoch
    self.part = part
  }

  private static let none = [UInt8](repeating: 0, count: 32)

  /// Writes the header.
  ///
  /// - Parameter bodySize: The number of bytes of nonce, ciphertext and tag.
  func write(to writer: inout ByteWriter, bodySize: Int) {
    writer.byte(Self.version)
    zone.write(to: &writer)
    author.write(to: &writer)
    writer.varint(number)
    writer.raw(previous?.bytes ?? citation?.bytes ?? Self.none)
    writer.uint64(time.value)
    epoch.write(to: &writer)
    writer.varint(part.index)
    writer.varint(part.planned)
    writer.byte(part.isFinal ? 1 : 0)
    writer.varint(bodySize)
  }

  init(from reader: inout ByteReader, bodySize: inout Int) throws(FormatError) {
    guard try reader.byte() == Self.version else { throw .unknown("change set version") }
    zone = try ZoneID(from: &reader)
    author = try Author(from: &reader)
    number = try reader.varint()
    let before = try reader.raw(32)
    previous = number == 1 || before == Self.none ? nil : ChangeSetID(before)
    citation = number != 1 || before == Self.none ? nil : ControlID(before)
    time = HybridTime(try reader.uint64())
    epoch = try EpochID(from: &reader)
    let index = try reader.varint()
    let planned = try reader.varint()
    let flags = try reader.byte()
    guard flags <= 1 else { throw .unknown("change set flag") }
    part = Part(index: index, planned: planned, isFinal: flags == 1)
    bodySize = try reader.count(Limits.changeSet, "change set body")
    guard number > 0 else { throw .invalid("a change set's number is above zero") }
    guard (number == 1) == (self.previous == nil) else {
      throw .invalid("just the first change set has no predecessor")
    }
  }
}
