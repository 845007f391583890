/// What the verbs ask of a node. The node itself implements it, and so does `ControlClient` over the control socket.
///
/// Every call throws an error that is `Refusing` where it has a reason for the user. Ids, in both directions, are the
/// displayed texts; arguments may also be a device's name where exactly one device has it.
public protocol NodeControl: Sendable {
  /// Why nothing but `doctor` and `backup` answers now; nil if everything does.
  func obstacle() async -> Refusal?
  func status() async throws -> StatusReport
  func peers() async throws -> PeersReport
  func zones() async throws -> ZonesReport
  /// Everything that can be wrong, looked at; with `deep` the whole file is read.
  func doctor(deep: Bool) async throws -> DoctorReport
  /// The newest first, page by page.
  func conflicts(_ request: ConflictsRequest) async throws -> ConflictsReport
  /// What is merged and not in its table, why, and what would free it.
  func held() async throws -> HeldReport
  /// Has what is held looked at again, and returns when that is done.
  func heldRetry() async throws -> RetryReport
  /// Gives a record that its table refuses other values, as an edit of now.
  func heldResolve(_ request: ResolveRequest) async throws -> ResolveReport
  /// Deletes records that are held, everywhere, as an edit of now: all of them or none.
  func heldDiscard(_ request: DiscardRequest) async throws -> DiscardReport
  /// The BLOBs that rows wait for, and how much of them is here.
  func assets() async throws -> AssetsReport
  /// The BLOBs of a record.
  func assetShow(_ request: AssetRequest) async throws -> AssetReport
  /// Has them fetched, whatever their table's policy, and says at once how they stand.
  func assetFetch(_ request: AssetRequest) async throws -> AssetReport
  /// Takes them out of the rows that show them.
  /// - Throws: a refusal where no connected device has one, unless it is forced.
  func assetEvict(_ request: AssetRequest) async throws -> AssetReport
  func assetPolicies() async throws -> AssetPoliciesReport
  func setAssetPolicy(_ policy: AssetPoliciesReport.Policy, table: String) async throws -> AssetPoliciesReport
  /// Puts back a value that was overwritten or lost, or a record that was deleted, as an edit of now.
  func restore(_ request: RestoreRequest) async throws -> RestoreReport
  /// Copies the database as it is now into a file, whose path is absolute and leads nowhere yet.
  func backup(to file: String) async throws -> BackupReport
  /// Why a record has the values that it has, in each zone that has it.
  func explain(_ request: RecordRequest) async throws -> RecordReport

  /// Waits until every connected member has the vectors that this node has, at most `timeout`, then compares digests.
  /// - Throws: `Refusal.noMember` where nobody is connected.
  func verify(timeout: Duration) async throws -> VerifyReport
  /// Waits until nothing is pending and every connected member has acknowledged all, at most `timeout`.
  /// - Throws: `Refusal.noMember` where nobody is connected.
  func wait(timeout: Duration) async throws -> WaitReport

  /// Validates the tables all together, installs capture and takes in the rows that exist. A table that is tracked
  /// already is no error.
  func track(_ request: TrackRequest) async throws -> TrackReport
  /// Removes capture; rows stay, here and elsewhere.
  func untrack(_ tables: [String]) async throws -> UntrackReport
  /// Compares rows with what is merged, and takes in what was written unnoticed; all tables where none is named.
  func rescan(_ tables: [String]) async throws -> RescanReport
  /// Tables and columns the mesh knows and this file lacks; with `apply`, creates and tracks them.
  func schema(apply: Bool) async throws -> SchemaReport

  /// A link that lets one device join the account; it names the addresses of this running node.
  /// - Throws: a refusal that names the machine with the account key, where this is not it.
  func deviceInvite(expires: Duration) async throws -> InviteReport
  func deviceList() async throws -> DevicesReport
  /// Revokes a device for ever: it is cut in every zone, and the zones get new keys.
  func deviceRevoke(_ device: String) async throws -> RevokeReport
  /// Makes a device an administrator, ends that, or lets a device in again that nobody who counts has certified.
  func deviceChange(_ request: DeviceChangeRequest) async throws -> DevicesReport.Device
  /// Takes back what this device signed ahead of time, and writes it again with the time as it is.
  /// - Throws: a refusal where it signed nothing such, or its clock is still wrong.
  func deviceRestamp() async throws -> RestampReport
  func accountShow() async throws -> AccountReport
  /// Puts a new key in the place of the account's, by the word of the recovery key. The new key is kept on this machine.
  func accountReplaceKey(_ request: ReplaceKeyRequest) async throws -> ReplaceKeyReport

  func shares() async throws -> SharesReport
  func share(_ share: String) async throws -> ShareReport
  /// Makes a share of a root record and what reaches it.
  func shareCreate(_ request: ShareCreateRequest) async throws -> ShareReport
  /// A link with which other accounts join; it names the addresses of this running node.
  func shareInvite(_ request: ShareInviteRequest) async throws -> ShareInviteReport
  /// Asks the members that a link names, and joins where it `claims`. It may have to wait for one of them.
  func shareJoin(_ request: ShareJoinRequest) async throws -> ShareJoinReport
  func shareChange(_ request: ShareChangeRequest) async throws -> ShareReport
  /// What was written here to a share and not taken; where it is to be restored, what is left then.
  func shareReceipt(_ request: ShareReceiptRequest) async throws -> ShareReceiptReport
}

extension NodeControl {
  public func obstacle() async -> Refusal? { nil }
  public func peers() async throws -> PeersReport { PeersReport(peers: try await status().peers) }
  public func zones() async throws -> ZonesReport { ZonesReport(zones: try await status().zones) }
}
