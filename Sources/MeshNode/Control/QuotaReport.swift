import MeshCore

/// How much one account has used of what every member keeps for it.
public struct QuotaReport: Codable, Hashable, Sendable {
  public enum What: String, Codable, Sendable {
    /// Devices and their instances that have written.
    case authors
    /// Records in the share's control log, and their bytes.
    case controlRecords, controlBytes
    /// Names of tables and columns that one of its authors uses.
    case names
    /// Bytes of change sets that wait to be merged, in all shares.
    case waitingBytes

    var words: String {
      switch self {
      case .authors: "authors"
      case .controlRecords: "control records"
      case .controlBytes: "bytes of control records"
      case .names: "names of tables and columns"
      case .waitingBytes: "bytes of change sets that wait"
      }
    }
  }

  public var account: String
  /// The name of one of its devices; null if none is known.
  @OrNull public var accountName: String?
  /// Null if it counts over all shares.
  @OrNull public var share: String?
  @OrNull public var shareName: String?
  public var what: What
  public var used: Int
  public var limit: Int

  public init(
    account: String, accountName: String?, share: String?, shareName: String?, what: What, used: Int, limit: Int
  ) {
    self.account = account
    self.accountName = accountName
    self.share = share
    self.shareName = shareName
    self.what = what
    self.used = used
    self.limit = limit
  }

  public var percent: Int { limit > 0 ? used.saturatingMultiplied(by: 100) / limit : 0 }
}
