/// A device's signed statement that it has durably merged everything up to these tips.
package struct Acknowledgement: Hashable, Sendable {
  /// The zone of the change sets.
  package let zone: ZoneID
  /// The device that merged them and signs.
  package let device: DeviceID
  /// The time of signing, by the device's hybrid clock. A later acknowledgement replaces an earlier one.
  package let time: HybridTime
  /// The vector of the change sets that the device has durably merged.
  package let merged: VersionVector
  /// The tips of the zone's control log as the device knew it, so that stale logs can't hide a removal for long. At
  /// most `Limits.controlHeads`.
  package let controlHeads: [ControlID]
  /// The Ed25519 signature by `device`, 64 bytes.
  package let signature: [UInt8]

  /// Creates and signs an acknowledgement of the device that `secrets` belong to. It keeps the first
  /// `Limits.controlHeads` tips.
  package init(
    zone: ZoneID, device: DeviceID, time: HybridTime, merged: VersionVector, controlHeads: [ControlID],
    secrets: any DeviceSecrets
  ) {
    self.zone = zone
    self.device = device
    self.time = time
    self.merged = merged
    // A member that forks the log on purpose must not keep others from acknowledging.
    let controlHeads = Array(controlHeads.prefix(Limits.controlHeads))
    self.controlHeads = controlHeads
    signature = secrets.sign(
      signedBytes(.acknowledgement, Self.unsigned(zone, device, time, merged, controlHeads)))
  }

  private static func unsigned(
    _ zone: ZoneID, _ device: DeviceID, _ time: HybridTime, _ merged: VersionVector, _ heads: [ControlID]
  ) -> [UInt8] {
    var writer = ByteWriter()
    zone.write(to: &writer)
    device.write(to: &writer)
    writer.uint64(time.value)
    merged.write(to: &writer)
    writer.list(heads) { $1.write(to: &$0) }
    return writer.bytes
  }

  /// Returns whether `device` signed it.
  package func isSigned(_ cryptography: any Cryptography) -> Bool {
    cryptography.verify(
      signature, of: signedBytes(.acknowledgement, Self.unsigned(zone, device, time, merged, controlHeads)),
      by: device.bytes)
  }

  /// The wire form: zone, device, time, merged vector, tips, signature.
  package var encoded: [UInt8] { Self.unsigned(zone, device, time, merged, controlHeads) + signature }

  /// Writes the wire form.
  package func write(to writer: inout ByteWriter) { writer.raw(encoded) }

  package init(from reader: inout ByteReader) throws(FormatError) {
    zone = try ZoneID(from: &reader)
    device = try DeviceID(from: &reader)
    time = HybridTime(try reader.uint64())
    merged = try VersionVector(from: &reader)
    controlHeads = try reader.list(Limits.controlHeads, "control heads") {
      (reader: inout ByteReader) throws(FormatError) in try ControlID(from: &reader)
    }
    signature = try reader.raw(64)
  }
}
