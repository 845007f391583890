/// The error that merged change sets have to be read again, but the key of their epoch is not here. A caller that meets
/// it leaves everything unchanged, and tries again when the key arrives.
package struct MissingKey: Error, Hashable, CustomStringConvertible {
  /// The epoch whose key encrypts the change sets.
  package let epoch: EpochID

  package init(epoch: EpochID) { self.epoch = epoch }

  package var description: String {
    "the key of \(epoch) is missing, and merged change sets need it: connect to a device that has it, or restore the home's zones"
  }
}
