/// What replication needs of a database. Calls are synchronous, made by one caller at a time, and each is one transaction
/// unless it says otherwise. Nothing here reads a clock or draws a random number: both come as parameters.
public protocol ReplicaStore: AnyObject {
  // MARK: Control log and account objects, as bytes that the caller verifies again at every start

  /// The zones that have a control record here, in the order they were met.
  func zones() throws -> [ZoneID]
  /// All control records of a zone, parents before children.
  func controlRecords(_ zone: ZoneID) throws -> [[UInt8]]
  /// All of them or none; idempotent by id. The caller has verified the records, and each comes after its parents.
  func insertControlRecords(_ records: [(id: ControlID, bytes: [UInt8])], zone: ZoneID) throws
  /// The last account state saved for an account (see `AccountState`), or nil.
  func accountState(_ account: AccountID) throws -> [UInt8]?
  func accounts() throws -> [AccountID]
  func saveAccountState(_ bytes: [UInt8], account: AccountID) throws
  /// Keeps what an account calls itself. Nothing happens if its state is not here.
  func nameAccount(_ account: AccountID, _ name: String) throws

  // MARK: Who writes

  /// The instance that this file writes as in the zone; nil before the first.
  func instance(_ zone: ZoneID) throws -> InstanceID?
  /// From now on local writes get change sets of this instance.
  func beginInstance(_ instance: InstanceID, zone: ZoneID) throws

  // MARK: Zones

  /// What each zone is to this device: all of them, at the start and whenever one changed. Which rows belong where, and what
  /// programs may write, follows.
  func setStandings(_ standings: [ZoneStanding]) throws
  /// Those that had ended when that was last said: of their records some may be gone, and others not.
  func endedZones() throws -> Set<ZoneID>
  /// Of each author, what its first change set cites: the control record that lets it write.
  func citations(_ zone: ZoneID) throws -> [Author: ControlID]
  /// The record that SQL finds by this name, as the merge knows it: a key can be spelled in several ways.
  func root(named record: RecordName) throws -> RecordName
  /// Nil where the record can be made a share.
  func obstacle(toSharing record: RecordName) throws -> ShareObstacle?
  /// The zone's rows stay when it is dropped.
  func keepCopy(of zone: ZoneID) throws
  func keepsCopy(of zone: ZoneID) throws -> Bool
  /// One bounded step of taking a zone's records out of the file; true where more is to do. Its control log stays.
  /// - Parameter keepingCopy: The rows stay, as new records of the private zone; so they do after `keepCopy`.
  func dropZone(_ zone: ZoneID, keepingCopy: Bool, now: Int64) throws -> Bool
  /// The newest first.
  func receipts(_ zone: ZoneID) throws -> [Receipt]

  // MARK: Upkeep

  /// One bounded step of keeping capture and records in step with a schema that others change. Cheap where nothing is to do.
  /// To be called until it is `.done`, when the file has changed, at the start, and whenever `flush` or `apply` says `flushFirst`
  /// or writes nothing though it has more. Throws `MissingKey` where the log has to be read again without a key: until it is
  /// here nothing is flushed or merged.
  func upkeep(_ reader: (ZoneID) throws -> ChangeSetReader, now: Int64) throws -> UpkeepProgress

  // MARK: Local writes

  /// Rows in the pending log.
  func pendingCount() throws -> Int
  /// What of the programs' writes no change set of the zone has. A row that is pending may be any zone's.
  func unsent(_ zone: ZoneID) throws -> Unsent
  /// Turns a slice of the pending log into one change set of one zone (or none where nothing really changed), in one
  /// transaction. Called again while `hasMore`. Encoding, encryption and signing happen before the write lock is taken.
  ///
  /// What was written to zones that this device may not write is rolled back, and kept as receipts.
  /// - Parameter writers: Of the zones that can be written now; what was written to another (whose key is not here) waits.
  func flush(_ writers: [ZoneID: ChangeSetWriter], now: Int64) throws -> FlushProgress

  // MARK: Change sets

  /// Author → last number here (bytes, merged or not).
  func storedVector(_ zone: ZoneID) throws -> VersionVector
  /// Author → last number merged, always the end of a unit.
  func mergedVector(_ zone: ZoneID) throws -> VersionVector
  /// The heads of `mergedVector`: number, id and time of each author's last merged change set.
  func mergedHeads(_ zone: ZoneID) throws -> [Author: ChangeSetHead]
  /// Whose devices are, whenever that has changed: what is kept for others is bounded by account.
  func setAccounts(_ accounts: Accounts)
  /// Stores verified change sets, in order, without merging them. Each gets its own outcome; a refused one does not stop the
  /// others. The caller has checked signature, certificate and cut; numbers, chain and times are checked here.
  func store(_ changeSets: [ChangeSet], zone: ZoneID, now: Int64) throws -> [StoreOutcome]
  /// Merged change sets, from log position `after` on, that `vector` lacks, in causal order, until `maximumBytes` (at least one).
  func changeSets(
    _ zone: ZoneID, beyond vector: VersionVector, after position: Int64, maximumBytes: Int
  ) throws -> ChangeSetBatch
  /// Merges the next slice of a stored unit whose causal past is merged, and brings the tables up to date.
  /// Local edits get their own stamps before remote ones are merged: rows that are pending are flushed by `writers` in the same
  /// transaction, so that a program which writes without a pause can't keep others' changes out; where more is pending than
  /// one part holds, those of the slice's records. Without writers, or inside a local unit, it refuses to run
  /// (`.flushFirst`). Throws `MissingKey` as `cut` does, where a unit that breaks a rule has to be taken back in part.
  func apply(
    _ zone: ZoneID, _ reader: ChangeSetReader, flushing writers: [ZoneID: ChangeSetWriter], now: Int64
  ) throws -> ApplyProgress
  /// Whether `cut` has anything to take back, or to finish.
  func takesBack(_ limits: [Author: UInt64], zone: ZoneID) throws -> Bool
  /// Takes back everything by these authors above these numbers, as if it had never been merged, and refuses it from now on.
  /// An author of a cut device that is not listed is given with 0. May take several transactions; resumable by calling it again.
  /// Throws `MissingKey`, and takes nothing back, where what is taken back can't be read; `PendingWrites` where programs have written.
  /// - Parameter aftermath: What becomes of the values that were merged and are taken back; of authors that are not listed,
  ///   nothing.
  func cut(
    _ limits: [Author: UInt64], aftermath: [Author: Aftermath], zone: ZoneID, _ reader: ChangeSetReader, now: Int64
  ) throws
  /// Change sets are kept that a cut took back with `Aftermath.receipt`.
  func hasTakenBack(_ zone: ZoneID) throws -> Bool
  /// Takes into the log again, as `store` does, a slice of the change sets that a cut took back with `Aftermath.receipt`: of each author
  /// what continues what is here, up to the first that does not stand. False where there is none.
  func putBack(_ zone: ZoneID, where stands: (ChangeSet) -> Bool) throws -> Bool
  /// Signs again, as one unit of the writer's author, a slice of what a cut took back with `Aftermath.writtenAgain`: with the
  /// times at which it was written, or now where they are ahead of it. Throws `PendingWrites` while rows are. Nil where nothing is
  /// left.
  func writeAgain(_ writer: ChangeSetWriter, now: Int64) throws -> ChangeSetHead?

  // MARK: Assets

  /// Assets that rows wait for and could show, if they are to be fetched: at most `limit`, those of each device in turn, the shortest
  /// first, so that no device's keep back another's. What of them is in the file already, in other rows or in the value that is
  /// to be replaced, is taken from there.
  /// - Parameter besides: Left out, and nothing is looked up of them.
  func wantedAssets(limit: Int, besides: Set<AssetID>) throws -> WantedAssets
  /// What is lacking of the assets that the zone's records name. What is not counted would survive a power cut.
  /// - Parameter absent: Those that nobody has who could be asked.
  func assetBacklog(_ zone: ZoneID, absent: Set<AssetID>) throws -> AssetBacklog
  /// Keeps who had something of assets that are incomplete here, and left.
  func noteSources(_ sources: [AssetID: DeviceID], now: Int64) throws
  /// Keeps a chunk that came, if a row waits for it and it is what the asset's manifest says.
  func stage(_ bytes: [UInt8], chunk index: Int, of asset: AssetID) throws -> ChunkOutcome
  /// Puts assets that are complete into the rows that wait for them: one bounded step. True where it has, and more may be to do.
  /// Rows that wait for their flush come later.
  func placeAssets(now: Int64) throws -> Bool
  /// A chunk of an asset that a record of the zone uses, proven; nil where it is not here.
  func chunk(_ index: Int, of asset: AssetID, zone: ZoneID) throws -> [UInt8]?
  /// The chunks of an asset that are here; nil where no record of the zone uses it.
  func chunks(of asset: AssetID, zone: ZoneID) throws -> ChunkSet?

  // MARK: Lines

  /// Of each author the last change set whose bytes are here.
  func storedHeads(_ zone: ZoneID) throws -> [Author: ChangeSetHead]
  /// The id of an author's change set with this number, where it is here.
  func changeSetID(_ zone: ZoneID, _ author: Author, _ number: UInt64) throws -> ChangeSetID?
  /// The last change sets of an author up to a number, without their bodies, ascending: at most `count`, and no more than
  /// `Choices.lineBytes` read for them.
  func line(_ zone: ZoneID, _ author: Author, through number: UInt64, count: Int) throws -> [SignedHeader]
  /// The end of the author's last unit all of which was signed at this time or before; 0 where there is none.
  func unitEnd(_ zone: ZoneID, _ author: Author, notLaterThan time: HybridTime) throws -> UInt64

  // MARK: Proof

  /// Over the live records of the merged state: their number, and an order-independent hash of 16 bytes.
  func digest(_ zone: ZoneID) throws -> ZoneDigest
  /// The last acknowledgement of a device (verified by the caller), encoded; kept only if later than the one here.
  func saveAcknowledgement(_ bytes: [UInt8], device: DeviceID, time: HybridTime, zone: ZoneID) throws
  func acknowledgements(_ zone: ZoneID) throws -> [DeviceID: [UInt8]]

  // MARK: Schema of others

  /// The tables that this file synchronizes, as data.
  func schemaDescriptions() throws -> [SchemaDescription]
  /// Remembers descriptions that a member sent, for `mesh schema` and for adopting them.
  ///
  /// - Parameter isOwn: By a device of this account: what is private for it is so here.
  /// - Returns: Tables that are private from now on.
  func saveForeignSchema(_ descriptions: [SchemaDescription], device: DeviceID, isOwn: Bool) throws -> [String]
}

extension ReplicaStore {
  public func setAccounts(_ accounts: Accounts) {}

  public func insertControlRecord(_ bytes: [UInt8], id: ControlID, zone: ZoneID) throws {
    try insertControlRecords([(id, bytes)], zone: zone)
  }

  public func wantedAssets(limit: Int) throws -> [WantedAsset] { try wantedAssets(limit: limit, besides: []).assets }

  /// Merges only while nothing is pending.
  public func apply(_ zone: ZoneID, _ reader: ChangeSetReader, now: Int64) throws -> ApplyProgress {
    try apply(zone, reader, flushing: [:], now: now)
  }
}

/// What becomes of values that a cut takes back.
public enum Aftermath: Sendable, Hashable {
  /// This device wrote them: it writes them again, as far as they were shown.
  case writtenAgain
  /// Kept with the conflicts.
  case kept
  /// This account wrote them where it may not write any more: kept as receipts, and as the change sets that they were.
  case receipt
}

extension ReplicaStore {
  /// Takes back what nobody misses: that of devices which were put out.
  public func cut(_ limits: [Author: UInt64], zone: ZoneID, _ reader: ChangeSetReader, now: Int64) throws {
    try cut(limits, aftermath: [:], zone: zone, reader, now: now)
  }
}

/// What encodes, encrypts and signs local changes.
public struct ChangeSetWriter: Sendable {
  public let zone: ZoneID
  public let author: Author
  /// What the author's first change set cites: the control record that lets it write.
  public let citation: ControlID?
  public let epoch: EpochID
  public let key: EpochKey
  public let secrets: any DeviceSecrets
  public let cryptography: any Cryptography

  public init(
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

/// What decrypts others' changes.
public struct ChangeSetReader: Sendable {
  public let keys: [EpochID: EpochKey]
  public let cryptography: any Cryptography
  /// Authors that were cut, and at what number: what is above it is neither merged nor waited for.
  public let cuts: [Author: UInt64]
  /// The same of an author that was never met, and may be named as another's past: nil where it may yet come.
  public let unknown: @Sendable (Author) -> UInt64?

  public init(
    keys: [EpochID: EpochKey], cuts: [Author: UInt64], unknown: @escaping @Sendable (Author) -> UInt64? = { _ in nil },
    cryptography: any Cryptography
  ) {
    self.keys = keys
    self.cuts = cuts
    self.unknown = unknown
    self.cryptography = cryptography
  }
}

public struct ChangeSetHead: Hashable, Sendable {
  public let number: UInt64
  public let id: ChangeSetID
  public let time: HybridTime
  public init(number: UInt64, id: ChangeSetID, time: HybridTime) {
    self.number = number
    self.id = id
    self.time = time
  }
}

public struct FlushProgress: Sendable, Equatable {
  /// Whose rows were dealt with; nil where there were none.
  public var zone: ZoneID?
  /// The change set that was written, if any: to be pushed to peers, and to be the high-water mark first.
  public var head: ChangeSetHead?
  /// Shares whose root record was deleted here. The owner's are over, and the deletes are sent; others are left, and nothing of
  /// that was sent.
  public var deletedRoots: [ZoneID] = []
  /// Records in it.
  public var records: Int
  /// The pending log or the unit is not finished.
  public var hasMore: Bool
  /// The change set, and all before it, would survive a power cut. Until then none of them may be sent.
  public var isSendable: Bool
  /// No unit is open: what was stored may be merged before the next begins.
  public var unitEnded: Bool
  /// Merged values wait to be shown: `apply` does it once nothing is pending.
  public var leavesToShow = false
  public init(
    zone: ZoneID? = nil, head: ChangeSetHead?, records: Int, hasMore: Bool, isSendable: Bool = true,
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

public enum UpkeepProgress: Sendable, Equatable {
  /// Rows can be flushed, and change sets merged.
  case done
  /// A step was made; call again. `compared` rows with what is merged, and noted `differences`.
  case worked(compared: Int = 0, differences: Int = 0)
  /// The triggers are for the schema as it is now. What a person should know of it, a sentence each; call again.
  case schemaChanged([String])
  /// More is to do once the rows that are pending are flushed.
  case flushFirst
}

public enum StoreOutcome: Sendable, Equatable {
  case stored
  /// The same change set is here already.
  case duplicate
  /// The author's numbers in between are not here.
  case gap
  /// Another change set with this number is here: proof of a fork; the one that is here stays.
  case fork(existing: ChangeSetID)
  /// It does not name the change set before it.
  case brokenChain
  /// Its time is not greater than that of the change set before it.
  case timeNotGreater
  /// Its part index does not continue the unit.
  case partOutOfOrder
  /// The author's change sets waiting here are at their bound (bytes); what would free it is merging them.
  case overQuota
}

public struct ChangeSetBatch: Sendable {
  public var changeSets: [[UInt8]]
  /// Where to go on.
  public var position: Int64
  /// Nothing is left beyond `position`.
  public var isComplete: Bool
  public init(changeSets: [[UInt8]], position: Int64, isComplete: Bool) {
    self.changeSets = changeSets
    self.position = position
    self.isComplete = isComplete
  }
}

public enum ApplyProgress: Sendable, Equatable {
  /// Nothing can be merged now; what is stored and waits, by reason.
  case idle(waiting: [WaitingReason: Int])
  /// A slice was merged; call again. `unitEnded` where a unit is complete and the merged vector moved.
  /// `flushed` are the change sets of local rows that went before, in the same transaction.
  case merged(records: Int, unitEnded: Bool, flushed: [ZoneID: ChangeSetHead] = [:])
  /// Rows are pending: flush, then call again.
  case flushFirst
}

/// Why a stored change set is not merged.
public enum WaitingReason: String, Sendable, Hashable, CaseIterable {
  /// Its author had merged change sets that are not here yet.
  case causalPast = "causal-past"
  /// Parts of its unit are not here yet.
  case unfinishedUnit = "unfinished-unit"
  /// The key of its epoch is not here yet.
  case epochKey = "epoch-key"
  /// It was signed too far ahead of this machine's clock.
  case futureTime = "future-time"
  /// Its body breaks a rule of the format; it will never be merged.
  case malformed = "malformed"
}

/// What of the programs' writes others can't have: a digest, which is of what is merged, does not cover it.
public enum Unsent: UInt8, Sendable {
  case nothing = 0
  /// Rows that are pending, or are still looked through.
  case pending = 1
  /// Nothing but rows with a value that is too long to be sent, or of tables that are not captured.
  case unsendable = 2
}

public struct ZoneDigest: Hashable, Sendable {
  public var records: UInt64
  public var hash: [UInt8]
  public init(records: UInt64, hash: [UInt8]) {
    self.records = records
    self.hash = hash
  }
}
