/// What the protocol fixes: two nodes that disagree on one of these do not understand each other.
public enum Limits {
  /// Bytes of an encoded change set, header and signature included.
  public static let changeSet = 1 << 20
  /// Bytes of a message of the session: one change set and its framing fit.
  public static let message = (1 << 20) + (1 << 16)
  /// Bytes of a BLOB that travels inside a change set.
  public static let inlineBlob = 16 << 10
  /// Bytes of an asset: SQLite's own limit on a BLOB.
  public static let asset = 1_000_000_000
  /// Bytes of one chunk of an asset: some milliseconds on a home's line, and a manifest of 0.013 % of the asset.
  public static let chunk = 256 << 10
  /// Chunks that one message asks for.
  public static let chunksWanted = 64
  /// Bytes of one piece of a value that is too long for a change set beside others.
  public static let piece = 512 << 10
  /// Bytes of one value that travels in pieces: assembled in memory before it is merged.
  public static let longValue = 64 << 20
  /// Bytes of a table's or column's name. SQLite has no limit; CloudKit's record types have 255.
  public static let name = 255
  /// Tables in one change set or schema, columns in one table (SQLite's own limit on columns is 2,000 by default).
  public static let tables = 2_000
  public static let columns = 2_000
  /// Names of tables and columns, together, in all change sets of one author: hundreds of tables with dozens of columns. Each is kept
  /// by every member, some 300 bytes with its record.
  public static let names = 16_384
  /// Elements of one change set: names of columns, rows and fields together. One takes a byte or more on the wire and up to some
  /// 100 in memory, so that what a change set becomes when it is read is bounded: 8 MiB beside its texts and blobs.
  public static let elements = 65_536
  /// Authors in a vector, and so in a zone.
  public static let authors = 8_192
  /// Authors of one account in another account's zone: 32 devices with half of their instances. The account of whoever has more is
  /// proven to, and ends at zero there.
  public static let authorsOfAccount = 256
  /// First change sets, without their bodies, in one proof of too many authors: as many as fit into a control record.
  public static let beginnings = 40
  /// Instances of one device in a zone: so one device can't use up the authors of all.
  public static let instances = 16
  /// Places at which one instance can be proven to fork, and numbers at which its device can end it. One with more of either is a
  /// liar, and ends at zero: so nobody is kept busy by ever lower places.
  public static let forks = 8
  /// Times that an account leaves a share. What it says of leaving after that has no effect: each has to be weighed against each
  /// word that let somebody in.
  public static let leaves = 64
  /// Change sets, without their bodies, in one message that shows an author's line.
  public static let line = 64
  /// Bytes of a change set's header, the hash of its body, and its signature: 322 at most in this version.
  public static let signedHeader = 512
  /// Bytes of an id's beginning, where lines are compared: two change sets that were made to agree in so much take 2⁶⁴ tries.
  public static let headPrefix = 16
  /// Bytes of a device's, account's or share's name.
  public static let deviceName = 64
  /// Bytes of what an account is called.
  public static let accountName = 64
  /// Devices of an account, alive and ever.
  public static let liveDevices = 32
  public static let devicesEver = 512
  /// Promotions of administrators that one key of an account ever signs.
  public static let promotions = 8
  /// Certificates, and revocations, that one promotion is good for. With the account's own they fit into one message.
  public static let administratorSignatures = 32
  /// Certificates, and revocations, that a state of an account keeps: those of its key and of its administrators.
  public static let certificates = devicesEver + promotions * administratorSignatures
  public static let revocations = certificates
  /// Successors of an account's first key, counted one after the other.
  public static let keyGeneration: UInt64 = 65_535
  /// Accounts in a share: their states, of some kilobytes each, are kept by every member.
  public static let participants = 1_024
  /// Accounts whose heads two devices compare in one message: as many as fit.
  public static let accountHeads = 16_384
  /// Parents of a control record, heads of a control log.
  public static let controlHeads = 64
  /// Bytes of one control record.
  public static let controlRecord = 16 << 10
  /// Authors that a record can name where their account loses the right to write, of 82 bytes at most beside 64 parents of 32: ten
  /// devices with all their instances.
  public static let cutAuthors = 160
  /// Accounts whose admissions a revoked invite leaves as they are, of 32 bytes each beside 64 parents of as many.
  public static let standingAccounts = 400
  /// Heads of a control log that one message tells. Of more the first are told: the peer then sends records that are here.
  public static let toldHeads = 1_024
  /// Control records, keys, or epochs whose keys are asked for, in one message. Each takes a signature's or a seal's time, and
  /// whatever else the receiver does waits for one message. As many records of the greatest size fit.
  public static let controlBatch = 64
  /// Change sets in one message: no more fit, since each has over 200 bytes, but a count is checked before its elements.
  public static let changeSetBatch = 65_536
  /// Bytes of a key sealed to a device: 80 in this version.
  public static let sealedKey = 256
  /// Bytes of the text of a goodbye: a sentence or two.
  public static let goodbyeText = 1_024
  /// Versions of the session protocol that a hello offers.
  public static let versions = 16
  /// Addresses in a link.
  public static let linkAddresses = 8
  /// Zones that two accounts have in common, as tags.
  public static let zones = 4_096
}

/// What this implementation chose: another may choose otherwise and still interoperate.
public enum Choices {
  /// Records in one flush part, one apply slice, one atomic unit: bounds the write lock.
  public static let slice = 1_000
  /// How far ahead of our clock a change set may be signed before it is held, in milliseconds.
  public static let clockBound: Int64 = 5 * 60 * 1_000
  /// The greatest number of a control record: two for each revocation of as many devices as an account ever has, and as many
  /// again. The author gave the number and signed it, so that every device refuses the same records.
  public static let controlRecords = 2_048
  /// Control records of one account in a zone that are taken from its own devices: two devices that use up their numbers.
  public static let controlRecordsOfAccount = 2 * controlRecords
  /// Bytes of them: 2 KiB each, where an honest one has some 300.
  public static let controlBytesOfAccount = 8 << 20
  /// How many times as much is taken from other accounts, who took it within their own bounds: or an honest record would
  /// lack a parent.
  public static let relayedControl = 4
  /// Records of its own that may be read at once because of one account's news, and each millisecond from then on. All of them are
  /// read whenever the state of a log is read: so the more an account has there, the more seldom.
  public static let controlReading = 4_096
  public static let controlReadingPerMillisecond = 1
  /// Bytes of control logs that an account's devices may be sent at once, or twice the log if that is more; and each millisecond
  /// from then on. What they ask for beyond that, they get later.
  public static let controlSending = 4 << 20
  public static let controlSendingPerMillisecond = 256
  /// Control records that a joiner lets itself be shown: those of some accounts that fill their bounds.
  public static let joinedControlRecords = 65_536
  /// Bytes that wait to leave on a session before what can be sent later is kept back: half of what ends the session.
  public static let outflow = 4 << 20
  /// Chunks of assets that are kept back for one session; whoever asks for more asks again later.
  public static let chunksKeptBack = 256
  /// Keys of a zone's epochs that are kept, beside those that this account and the zone's owner minted: 4 MiB in the home. An
  /// honest zone has one for each removal, revocation or lost device.
  public static let epochKeys = 65_536
  /// Sessions with peers whose hello has come: beyond that, the newest of the other account that has most of them ends.
  public static let sessions = 384
  /// Sessions with peers whose hello has not come, or that use an invite. The oldest gives way.
  public static let unnamedSessions = 64
  /// Sessions of one other account: an honest one has no more devices.
  public static let sessionsOfAccount = Limits.liveDevices
  /// Sessions that one other account may open at once, and four a second from then on. Each costs a few milliseconds.
  public static let sessionsOpened = 8 * Limits.liveDevices
  /// Bytes of control logs that somebody who uses an invite counts for at least, whatever the log has.
  public static let leastShown = 16 << 10
  /// Bytes of states of accounts that one account's sessions may show before records name them: thousands of accounts with a few
  /// devices.
  public static let offeredAccounts = 8 << 20
  /// Bytes of overwritten BLOBs that a device keeps to restore them, if `config.toml` doesn't say.
  public static let keptBlobs = 1 << 30
  /// Bytes of change sets that are read to show a part of an author's line.
  public static let lineBytes = 8 << 20
  /// Bytes of change sets a sender may have on the way to us unanswered.
  public static let creditWindow = 8 << 20
}
