import MeshCore

/// How much one account has used of what every member keeps for it.
public struct QuotaReport: Codable, Hashable, Sendable {
  /// The things that the limit counts.
  public enum What: String, Codable, Sendable {
    /// Devices and their instances that have written.
    case authors
    /// Records in the share's control log.
    case controlRecords
    /// Bytes of the records in the share's control log.
    case controlBytes
    /// Names of tables and columns that one of the account's authors uses.
    case names
    /// Bytes of change sets that wait to be merged, in all shares.
    case waitingBytes
    /// Policies of columns that an owner of shares has set.
    case policies

    /// The counted things in the plural, as messages name them.
    package var words: String {
      switch self {
      case .authors: "authors"
      case .controlRecords: "control records"
      case .controlBytes: "bytes of control records"
      case .names: "names of tables and columns"
      case .waitingBytes: "bytes of change sets that wait"
      case .policies: "policies of columns"
      }
    }
  }

  /// The id of the account.
  public var account: String
  /// The name that the account gave itself, or else the name of one of its devices. It is nil if neither is known.
  @OrNull public var accountName: String?
  /// The id of the share. It is nil if the limit counts over all shares.
  @OrNull public var share: String?
  /// The title of the share.
  @OrNull public var shareName: String?
  /// The things that the limit counts.
  public var what: What
  /// How much the account has used.
  public var used: Int
  /// How much the account may use.
  public var limit: Int

  package init(
    account: String, accountName: String?, share: String?, shareName: String?, what: What, used: Int, limit: Int
  ) {
    (self.account, self.accountName, self.share, self.shareName) = (account, accountName, share, shareName)
    (self.what, self.used, self.limit) = (what, used, limit)
  }

  /// The used part of the limit, in percent.
  public var percent: Int { limit > 0 ? used.saturatingMultiplied(by: 100) / limit : 0 }
}
