/// The interface between replication and a database: one part for each of its users.
///
/// Calls are synchronous, and one caller at a time makes them. Each call is one transaction unless its description says
/// otherwise. Implementations don't read a clock or draw random numbers: both come as parameters.
package protocol ReplicaStore: AnyObject {
  /// The type of `control`.
  associatedtype Control: ControlStore
  /// The type of `zones`.
  associatedtype Zones: ZoneStore
  /// The type of `log`.
  associatedtype Log: LogStore
  /// The type of `localWrites`.
  associatedtype LocalWrites: LocalWriteStore
  /// The type of `capture`.
  associatedtype Capture: CaptureStore
  /// The type of `merges`.
  associatedtype Merges: MergeStore
  /// The type of `assets`.
  associatedtype Assets: AssetStore
  /// The type of `schema`.
  associatedtype Schema: SchemaStore

  /// Control logs, account states and acknowledgements.
  var control: Control { get }
  /// The standings of zones, and this device's instances in them.
  var zones: Zones { get }
  /// The signed change sets.
  var log: Log { get }
  /// The flush: from captured rows to signed change sets.
  var localWrites: LocalWrites { get }
  /// The triggers and the upkeep of captured tables.
  var capture: Capture { get }
  /// The merge of stored change sets into records and rows.
  var merges: Merges { get }
  /// The BLOBs that travel beside the change sets.
  var assets: Assets { get }
  /// Descriptions of tables, and the policies of columns.
  var schema: Schema { get }
}

/// The control logs, the states of accounts and the acknowledgements of devices, as bytes that the caller verifies
/// again at every start.
package protocol ControlStore {
  /// Returns the zones that have a control record here, in the order in which this file first met them.
  func knownZones() throws -> [ZoneID]
  /// Returns all control records of a zone, parents before children.
  func controlRecords(_ zone: ZoneID) throws -> [[UInt8]]
  /// Inserts all of the records or none of them. Inserting a record again does nothing, because its id identifies it.
  /// The caller has verified the records, and each record comes after its parents.
  func insertControlRecords(_ records: [(id: ControlID, bytes: [UInt8])], zone: ZoneID) throws
  /// Returns the last account state that was saved for an account (see `AccountState`), or nil if there is none.
  func accountState(_ account: AccountID) throws -> [UInt8]?
  /// Returns the accounts that have a saved state.
  func accounts() throws -> [AccountID]
  /// Saves the encoded states of accounts in one transaction, and replaces the earlier ones.
  func saveAccountStates(_ states: [AccountID: [UInt8]]) throws
  /// Saves the name that an account gives itself. Does nothing if the account's state is not here.
  func nameAccount(_ account: AccountID, _ name: String) throws
  /// Sets which account each device belongs to. Call it whenever that changes: the space for change sets of others is
  /// bounded by account. Call it before anything is merged.
  ///
  /// - Parameter device: This device.
  func setAccounts(_ accounts: Accounts, device: DeviceID)
  /// Saves the last acknowledgement of a device, encoded. The caller has verified it. Keeps it only if it is later than
  /// the one here.
  func saveAcknowledgement(_ bytes: [UInt8], device: DeviceID, time: HybridTime, zone: ZoneID) throws
  /// Returns the last acknowledgement of each device, encoded.
  func acknowledgements(_ zone: ZoneID) throws -> [DeviceID: [UInt8]]
}

/// The zones: what they are to this device, and who writes in them here.
package protocol ZoneStore {
  /// Sets what each zone is to this device. The caller passes all zones, at the start and whenever one of them changes.
  /// The standings decide which rows belong to which zone, and what programs may write.
  func setStandings(_ standings: [ZoneStanding]) throws
  /// Returns the zones that had ended when `setStandings` was last called. Some of their records may be removed
  /// already, and others not.
  func endedZones() throws -> Set<ZoneID>
  /// Returns the instance that this file writes as in the zone, or nil before the first one.
  func instance(_ zone: ZoneID) throws -> InstanceID?
  /// Starts an instance: from now on, local writes get change sets of this instance.
  ///
  /// - Parameter sentThrough: The time, in milliseconds since 1970, through which another file may have sent pending
  ///   writes as the former instance. Increments of counters until then become part of what the former instance has
  ///   counted, so that they count once. The greatest integer if it is unknown, as it is for a file of another device.
  ///   Nil if no other file can have sent them.
  func beginInstance(_ instance: InstanceID, zone: ZoneID, sentThrough: Int64?) throws
  /// Returns the records with pending increments of which it is unknown whether another file has sent them.
  func doubtfulIncrements(_ zone: ZoneID) throws -> [RecordName]
  /// Returns the number of live records in the merged state, and a hash of 16 bytes over them that doesn't depend on
  /// their order.
  func digest(_ zone: ZoneID) throws -> ZoneDigest
  /// Returns the record that SQL finds by this name, spelled as the merge spells it. A key can be spelled in several
  /// ways.
  func root(named record: RecordName) throws -> RecordName
  /// Returns why the record can't become the root of a share, or nil if it can.
  func obstacle(toSharing record: RecordName) throws -> ShareObstacle?
  /// Makes `dropZone` keep the zone's rows as a copy.
  func keepCopy(of zone: ZoneID) throws
  /// Returns whether `keepCopy` was called for the zone.
  func keepsCopy(of zone: ZoneID) throws -> Bool
  /// Removes a bounded number of a zone's records from the file. The zone's control log stays.
  ///
  /// - Parameter keepingCopy: Keeps the rows, as new records of the private zone. They are also kept after a call of
  ///   `keepCopy`.
  /// - Parameter unsent: The numbers above which these authors' change sets stay, as reverted ones. They return if the
  ///   account joins again.
  /// - Returns: True if more records are left to remove.
  func dropZone(_ zone: ZoneID, keepingCopy: Bool, unsent: [Author: UInt64], now: Int64) throws -> Bool
}

/// Stores change sets in each author's log, and reads them for peers.
package protocol LogStore {
  /// Returns, for each author, the number of its last change set whose bytes are here, merged or not.
  func storedVector(_ zone: ZoneID) throws -> VersionVector
  /// Returns what `storedVector` and `citations` say of one author. The time doesn't grow with the number of authors.
  func stored(_ zone: ZoneID, _ author: Author) throws -> (number: UInt64, citation: ControlID?)
  /// Returns how many authors `storedVector` has.
  func authorCount(_ zone: ZoneID) throws -> Int
  /// Returns, for each author, the number of its last merged change set. It is always the end of a unit.
  func mergedVector(_ zone: ZoneID) throws -> VersionVector
  /// Returns the tips of `mergedVector`: the number, id and time of each author's last merged change set.
  func mergedTips(_ zone: ZoneID) throws -> [Author: ChangeSetTip]
  /// Returns, for each author, the last change set whose bytes are here.
  func storedTips(_ zone: ZoneID) throws -> [Author: ChangeSetTip]
  /// Returns, for each author, the control record that its first change set cites as its permission to write.
  func citations(_ zone: ZoneID) throws -> [Author: ControlID]
  /// Returns the id of an author's change set with this number, or nil if it is not here.
  func changeSetID(_ zone: ZoneID, _ author: Author, _ number: UInt64) throws -> ChangeSetID?
  /// Returns the last change sets of an author up to a number, without their bodies, in ascending order. Returns at
  /// most `count` of them, and reads at most `Choices.excerptBytes` for them.
  func excerpt(_ zone: ZoneID, _ author: Author, through number: UInt64, count: Int) throws -> [SignedHeader]
  /// Returns the end of the author's last unit that was wholly signed at this time or before, or 0 if there is none.
  func unitEnd(_ zone: ZoneID, _ author: Author, notLaterThan time: HybridTime) throws -> UInt64
  /// Stores verified change sets in their order, without merging them. Returns an outcome for each one. A refused
  /// change set doesn't stop the others.
  ///
  /// The caller has checked signature, certificate and cutoff. This function checks numbers, chain and times.
  func store(_ changeSets: [ChangeSet], zone: ZoneID, now: Int64) throws -> [StoreOutcome]
  /// Returns merged change sets that `vector` doesn't include, in causal order, starting after the log position
  /// `after`. Stops at `maximumBytes`, but returns at least one change set if there is one.
  ///
  /// - Parameter devices: The devices whose change sets are returned, or nil for all.
  func changeSets(
    _ zone: ZoneID, beyond vector: VersionVector, of devices: Set<DeviceID>?, after position: Int64, maximumBytes: Int
  ) throws -> ChangeSetBatch
  /// Returns whether the zone has rejected change sets that are kept as receipts.
  func hasReverted(_ zone: ZoneID) throws -> Bool
  /// Stores again, as `store` does, a slice of the rejected change sets that are kept as receipts. For each author, it
  /// takes the change sets that continue the log here, up to the first that doesn't satisfy `stands`.
  ///
  /// - Returns: False if there was none to store.
  func storeAgain(_ zone: ZoneID, where stands: (ChangeSet) -> Bool) throws -> Bool
}

/// Local writes, and their way into the change log.
package protocol LocalWriteStore {
  /// Returns the number of rows in the pending log.
  func pendingCount() throws -> Int
  /// Turns a slice of the pending log into one change set of one zone, in one transaction. Writes no change set if no
  /// value really changed. Call it again while `hasMore` is true. Encoding, encryption and signing happen before the
  /// write lock is taken.
  ///
  /// Rolls back writes to zones that this device may not write, and keeps them as receipts.
  ///
  /// - Parameter writers: The writers of the zones that can be written now. Rows of any other zone wait, for instance
  ///   because its key is not here.
  func flush(_ writers: [ZoneID: ChangeSetWriter], now: Int64) throws -> FlushProgress
  /// Signs again a slice of the changes that `cut` reverted with `Aftermath.writtenAgain`, as one unit of the writer's
  /// author. The changes keep their original times, or get `now` if those are ahead of it.
  ///
  /// Throws `PendingWrites` while rows are pending.
  ///
  /// - Returns: The tip of the writer's log, or nil if nothing is left to sign.
  func writeAgain(_ writer: ChangeSetWriter, now: Int64) throws -> ChangeSetTip?
}

/// Keeps the triggers in step with the schema, and finds writes that no trigger saw.
package protocol CaptureStore {
  /// Makes one bounded step that brings capture and records up to date with a schema that other programs change. A call
  /// is cheap if there is nothing to do.
  ///
  /// Call it until it returns `.done`: at the start, when the file has changed, and whenever `flush` or `apply` returns
  /// `flushFirst` or writes nothing although it has more. Throws `MissingKey` if the log has to be read again and a key
  /// is missing. Until the key arrives, nothing is flushed or merged.
  func upkeep(_ reader: (ZoneID) throws -> ChangeSetReader, now: Int64) throws -> UpkeepProgress
  /// Returns whether programs wrote anything that no change set of the zone contains. A pending row that is not routed
  /// yet may belong to any zone.
  func unsent(_ zone: ZoneID) throws -> Unsent
}

/// Merging stored change sets, and reverting them.
package protocol MergeStore {
  /// Returns whether merged values wait to be shown. `apply` shows them once no rows are pending.
  func isShowing() throws -> Bool
  /// Merges the next slice of a stored unit whose causal past is merged, and brings the tables up to date.
  ///
  /// Local edits must get their own stamps before remote changes are merged. Therefore `writers` flush the pending rows
  /// in the same transaction, so that a program that writes without a pause can't block the changes of others. If more
  /// rows are pending than one part holds, only those of the slice's records are flushed.
  ///
  /// Returns `.flushFirst` without merging if rows are pending and there are no writers, or if a local unit is open.
  /// Throws `MissingKey`, as `revert` does, if part of a unit that breaks a rule has to be reverted.
  func apply(
    _ zone: ZoneID, _ reader: ChangeSetReader, flushing writers: [ZoneID: ChangeSetWriter], now: Int64
  ) throws -> ApplyProgress
  /// Returns whether `revert` has anything to revert or to finish.
  func isRevertDue(_ limits: [Author: UInt64], zone: ZoneID) throws -> Bool
  /// Reverts all change sets of these authors above these numbers, as if they had never been merged. Refuses them from
  /// now on.
  ///
  /// An author of a removed device that has no cutoff of its own is passed with 0. The work may take several
  /// transactions. After an interruption, call the function again to resume it.
  ///
  /// Throws `MissingKey`, and reverts nothing, if a change set to revert can't be read. Throws `PendingWrites` if
  /// programs have written.
  ///
  /// - Parameter aftermath: How to keep the reverted values of each author, if they had been merged. The values of
  ///   authors that are not listed are dropped.
  func revert(
    _ limits: [Author: UInt64], aftermath: [Author: Aftermath], zone: ZoneID, _ reader: ChangeSetReader, now: Int64
  ) throws
  /// Keeps as receipts what these authors wrote above these numbers. Nothing is reverted, because the rows stay as a copy.
  /// A second call keeps nothing twice.
  ///
  /// Throws `MissingKey`, and keeps nothing, if a change set can't be read.
  func keepUnsent(_ limits: [Author: UInt64], zone: ZoneID, _ reader: ChangeSetReader, now: Int64) throws
}

/// The assets: long BLOBs that devices give each other chunk by chunk.
package protocol AssetStore {
  /// Returns assets to download: rows wait for them and could show them. Devices take turns, so that the assets of one
  /// device don't hold up those of another. The shortest assets come first.
  ///
  /// Chunks that are in the file already, in other rows or in the value to be replaced, are copied from there.
  ///
  /// - Parameter limit: The largest number of assets to return.
  /// - Parameter besides: Assets to leave out. Nothing is looked up for them.
  func wantedAssets(limit: Int, besides: Set<AssetID>) throws -> WantedAssets
  /// Returns what is missing of the assets that the zone's records name. Everything that is not counted would survive a
  /// power cut.
  ///
  /// - Parameter absent: The assets that no reachable device has.
  func assetBacklog(_ zone: ZoneID, absent: Set<AssetID>) throws -> AssetBacklog
  /// Saves which device had chunks of an asset that is incomplete here, when that device disconnects.
  func noteSources(_ sources: [AssetID: DeviceID], now: Int64) throws
  /// Returns the assets that this account wrote into a zone of another account, and that no device of that account is
  /// known to have, ordered by id.
  func undelivered(_ zone: ZoneID, limit: Int) throws -> [Asset]
  /// Notes that a device of the zone's owner has these assets.
  func noteDelivered(_ assets: Set<AssetID>, in zone: ZoneID) throws
  /// Keeps a chunk that arrived, if a row waits for it and it matches the asset's manifest.
  func stage(_ bytes: [UInt8], chunk index: Int, of asset: AssetID) throws -> ChunkOutcome
  /// Writes complete assets into the rows that wait for them, in one bounded step. Leaves rows that wait for their
  /// flush for later.
  ///
  /// - Returns: True if it wrote any, so that more may be left to do.
  func placeAssets(now: Int64) throws -> Bool
  /// Returns a chunk of an asset that a record of the zone uses, with its content checked. Returns nil if the chunk is
  /// not here.
  func chunk(_ index: Int, of asset: AssetID, zone: ZoneID) throws -> [UInt8]?
  /// Returns the chunks of an asset that are here, or nil if no record of the zone uses the asset. A chunk that `chunk`
  /// has looked for in vain is not among them.
  func chunks(of asset: AssetID, zone: ZoneID) throws -> ChunkSet?
}

/// The descriptions of devices' tables, and the policies of columns.
package protocol SchemaStore {
  /// Returns descriptions of the tables that this file synchronizes.
  func schemaDescriptions() throws -> [SchemaDescription]
  /// Saves descriptions that a member sent, so that `mesh schema` can show and adopt them.
  ///
  /// - Parameter isOwn: True if the sender is a device of this account. Tables that are private there become private
  ///   here too.
  /// - Returns: The tables that became private.
  func saveForeignSchema(_ descriptions: [SchemaDescription], device: DeviceID, isOwn: Bool) throws -> [String]
  /// Returns the policies of columns that owners of shares set, by the owners.
  func ownerPolicies() throws -> [AccountID: [NamedPolicies]]
  /// Saves policies that the owner of shares set, unless later ones are known.
  func saveOwnerPolicies(_ policies: [NamedPolicies], of owner: AccountID) throws
}

extension ControlStore {
  /// Inserts one control record in a transaction of its own.
  package func insertControlRecord(_ bytes: [UInt8], id: ControlID, zone: ZoneID) throws {
    try insertControlRecords([(id, bytes)], zone: zone)
  }
}

extension AssetStore {
  /// Returns at most `limit` assets that rows here wait for, whatever else is being downloaded.
  package func wantedAssets(limit: Int) throws -> [WantedAsset] { try wantedAssets(limit: limit, besides: []).assets }
}

extension MergeStore {
  /// Merges only while no rows are pending.
  package func apply(_ zone: ZoneID, _ reader: ChangeSetReader, now: Int64) throws -> ApplyProgress {
    try apply(zone, reader, flushing: [:], now: now)
  }
}

/// How values are kept that `cut` reverts.
package enum Aftermath: Sendable, Hashable {
  /// This device wrote the values, and writes them again as far as they were shown.
  case writtenAgain
  /// The values are kept with the conflicts.
  case kept
  /// This account wrote the values after it lost the permission to write. They are kept as receipts, together with the
  /// original change sets.
  case receipt
}

extension MergeStore {
  /// Reverts changes that nobody needs to keep, such as those of removed devices.
  package func revert(_ limits: [Author: UInt64], zone: ZoneID, _ reader: ChangeSetReader, now: Int64) throws {
    try revert(limits, aftermath: [:], zone: zone, reader, now: now)
  }
}

/// Encodes, encrypts and signs local changes.
package struct ChangeSetWriter: Sendable {
  /// The zone of the change sets.
  package let zone: ZoneID
  /// This device, in its current instance in the zone.
  package let author: Author
  /// The control record that lets the author write. The author's first change set cites it.
  package let citation: ControlID?
  /// The epoch whose key encrypts the change sets.
  package let epoch: EpochID
  /// The key of `epoch`.
  package let key: EpochKey
  /// Signs the change sets as this device.
  package let secrets: any DeviceSecrets
  /// Hashes and encrypts.
  package let cryptography: any Cryptography

  package init(
    zone: ZoneID, author: Author, citation: ControlID? = nil, epoch: EpochID, key: EpochKey,
    secrets: any DeviceSecrets, cryptography: any Cryptography
  ) {
    self.zone = zone
    self.author = author
    self.citation = citation
    self.epoch = epoch
    self.key = key
    self.secrets = secrets
    self.cryptography = cryptography
  }
}

/// The keys and the limits of authors with which the store reads and merges change sets.
package struct ChangeSetReader: Sendable {
  /// The keys of the zone's epochs that this device has.
  package let keys: [EpochID: EpochKey]
  /// Verifies, hashes and decrypts.
  package let cryptography: any Cryptography
  /// The authors that have a cutoff, and the cutoff's number. Change sets above it are neither merged nor waited for.
  package let cuts: [Author: UInt64]
  /// Returns the cutoff of an author that was never met but may be named in another author's past. Returns nil if its
  /// change sets may still arrive.
  package let unknown: @Sendable (Author) -> UInt64?

  package init(
    keys: [EpochID: EpochKey], cuts: [Author: UInt64], unknown: @escaping @Sendable (Author) -> UInt64? = { _ in nil },
    cryptography: any Cryptography
  ) {
    self.keys = keys
    self.cuts = cuts
    self.unknown = unknown
    self.cryptography = cryptography
  }
}

/// The number, id and time of a change set, usually of the newest one of an author.
package struct ChangeSetTip: Hashable, Sendable {
  /// The author's number: 1, 2, 3 and so on.
  package let number: UInt64
  /// The hash that the author signed.
  package let id: ChangeSetID
  /// When the author signed it, by its hybrid clock.
  package let time: HybridTime
  package init(number: UInt64, id: ChangeSetID, time: HybridTime) {
    self.number = number
    self.id = id
    self.time = time
  }
}

/// The outcome of one call of `flush`.
package struct FlushProgress: Sendable, Equatable {
  /// The zone whose rows were flushed, or nil if there were no rows.
  package var zone: ZoneID?
  /// The change set that was written, if any. The caller pushes it to peers, but first saves it as the high-water mark.
  package var head: ChangeSetTip?
  /// The shares whose root record was deleted here. If this account owns the share, the share ends and the deletes are
  /// sent. Otherwise this account leaves the share, and nothing of the deletion is sent.
  package var deletedRoots: [ZoneID] = []
  /// The number of records in the change set.
  package var records: Int
  /// True if the pending log or the unit is not finished.
  package var hasMore: Bool
  /// True if the change set and all earlier ones would survive a power cut. Until then, none of them may be sent.
  package var isSendable: Bool
  /// True if no unit is open. Stored change sets may be merged before the next unit begins.
  package var unitEnded: Bool
  /// True if merged values wait to be shown. `apply` shows them once no rows are pending.
  package var leavesToShow = false
  package init(
    zone: ZoneID? = nil, head: ChangeSetTip?, records: Int, hasMore: Bool, isSendable: Bool = true,
    unitEnded: Bool = true
  ) {
    self.zone = zone
    self.head = head
    self.records = records
    self.hasMore = hasMore
    self.isSendable = isSendable
    self.unitEnded = unitEnded
  }
}

/// The outcome of one call of `upkeep`.
package enum UpkeepProgress: Sendable, Equatable {
  /// Rows can be flushed, and change sets merged.
  case done
  /// A step was made; call again. The step compared `compared` rows with the merged records, and noted `differences`.
  case worked(compared: Int = 0, differences: Int = 0)
  /// The triggers now fit the current schema; call again. The texts tell a person about it, one sentence each.
  case schemaChanged([String])
  /// More is left to do after the pending rows are flushed.
  case flushFirst
}

/// The outcome for one change set passed to `store`.
package enum StoreOutcome: Sendable, Equatable {
  /// It is in the log now. A later call of `apply` merges it.
  case stored
  /// The same change set is here already.
  case duplicate
  /// The author's change sets with the numbers in between are not here.
  case gap
  /// Another change set with this number is here, which proves a fork. The one that is here stays.
  case fork(existing: ChangeSetID)
  /// It doesn't name the change set before it.
  case brokenChain
  /// Its time is not greater than that of the change set before it.
  case timeNotGreater
  /// Its part index doesn't continue the unit.
  case partOutOfOrder
  /// The author's waiting change sets have reached their bound in bytes. Merging them frees the space.
  case overQuota
}

/// A batch of change sets, and the log position after them.
package struct ChangeSetBatch: Sendable {
  /// The encoded change sets, as their authors signed them, in the order of the log.
  package var changeSets: [[UInt8]]
  /// The log position to continue at.
  package var position: Int64
  /// True if nothing is left beyond `position`.
  package var isComplete: Bool
  /// The devices that wrote the change sets.
  package var devices: Set<DeviceID> = []

  package init(changeSets: [[UInt8]], position: Int64, isComplete: Bool) {
    self.changeSets = changeSets
    self.position = position
    self.isComplete = isComplete
  }
}

/// The outcome of one call of `apply`.
package enum ApplyProgress: Sendable, Equatable {
  /// Nothing can be merged now. `waiting` counts the stored change sets that wait, by reason.
  case idle(waiting: [WaitingReason: Int])
  /// A slice was merged; call again. `unitEnded` is true if a unit is complete and the merged vector advanced.
  /// `flushed` holds the change sets of local rows that were flushed before, in the same transaction.
  case merged(records: Int, unitEnded: Bool, flushed: [ZoneID: ChangeSetTip] = [:])
  /// Rows are pending. Flush them, then call again.
  case flushFirst
}

/// The reason why a stored change set is not merged.
package enum WaitingReason: String, Sendable, Hashable, CaseIterable {
  /// Its author had merged change sets that are not here yet.
  case causalPast = "causal-past"
  /// Parts of its unit are not here yet.
  case unfinishedUnit = "unfinished-unit"
  /// The key of its epoch is not here yet.
  case epochKey = "epoch-key"
  /// It was signed too far ahead of this machine's clock.
  case futureTime = "future-time"
  /// Its body breaks a rule of the format. It will never be merged.
  case malformed = "malformed"
}

/// The programs' writes that other devices can't have yet. A digest covers the merged state, so it doesn't include
/// them.
package enum Unsent: UInt8, Sendable {
  /// Every write is in a change set.
  case nothing = 0
  /// Rows are pending, or upkeep still has rows to look through.
  case pending = 1
  /// The only unsent rows have a value that is too long to be sent, or belong to tables that are not captured.
  case unsendable = 2
}

/// The digest of a zone's merged records, for comparing two devices.
package struct ZoneDigest: Hashable, Sendable {
  /// The number of live records.
  package var records: UInt64
  /// 16 bytes: the sum of the hashes of the live records, which doesn't depend on their order.
  package var hash: [UInt8]
  package init(records: UInt64, hash: [UInt8]) {
    self.records = records
    self.hash = hash
  }
}
