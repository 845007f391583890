/// The key of an epoch is not here that merged change sets are encrypted under, and they have to be read again. Whoever meets it
/// leaves everything as it was, and tries again once the key has come.
public struct MissingKey: Error, Hashable, CustomStringConvertible {
  public let epoch: EpochID

  public init(epoch: EpochID) { self.epoch = epoch }

  public var description: String {
    "the key of \(epoch) is missing, and merged change sets need it: connect to a device that has it, or restore the home's zones"
  }
}
