/// The limits that the protocol fixes. Two nodes with different values for one of these can't work together.
///
/// A comment such as “Bytes of a message” gives the greatest number of bytes that a message may have.
package enum Limits {
  /// Bytes of an encoded change set, including header and signature.
  package static let changeSet = 1 << 20
  /// Bytes of a message of a session. One change set with its framing fits.
  package static let message = (1 << 20) + (1 << 16)
  /// Bytes of a BLOB that travels inside a change set.
  package static let inlineBlob = 16 << 10
  /// Bytes of an asset. This is SQLite's own limit on a BLOB.
  package static let asset = 1_000_000_000
  /// Bytes of one chunk of an asset. A chunk takes some milliseconds on a home connection, and the manifest is 0.013 %
  /// of the asset.
  package static let chunk = 256 << 10
  /// Chunks that one message asks for.
  package static let chunksWanted = 64
  /// Bytes of one piece of a value that is too long to share a change set with others.
  package static let piece = 512 << 10
  /// Bytes of one value that travels in pieces. The pieces are assembled in memory before the value is merged.
  package static let longValue = 64 << 20
  /// Bytes of a table's or column's name. SQLite has no limit. The record types of CloudKit have 255.
  package static let name = 255
  /// Tables in one change set or schema, and columns in one table. SQLite's default limit on columns is 2,000.
  package static let tables = 2_000
  /// Columns of one table.
  package static let columns = 2_000
  /// Names of tables and columns, together, in all change sets of one author. This is enough for hundreds of tables
  /// with dozens of columns. Every member keeps each name, which takes some 300 bytes with its record.
  package static let names = 16_384
  /// Elements of one change set: column names, rows and fields together. An element takes a byte or more on the wire,
  /// and up to about 100 in memory. This bounds the memory for a decoded change set to 8 MiB beside its texts and
  /// BLOBs.
  package static let elements = 65_536
  /// Authors in a vector, and therefore in a zone.
  package static let authors = 8_192
  /// Authors of one account in another account's zone: 32 devices with half of their instances each. If an account is
  /// proven to have more, all its authors are cut at zero there.
  package static let authorsOfAccount = 256
  /// First change sets, without their bodies, in one proof of too many authors. As many as fit into a control record.
  package static let beginnings = 40
  /// Instances of one device in a zone. The bound keeps one device from using up the authors of all devices.
  package static let instances = 16
  /// Points at which one instance can be proven to fork, and numbers at which its device can end it. An instance that
  /// exceeds either is a liar and is cut at zero. Otherwise it could keep others busy with ever lower points.
  package static let forks = 8
  /// Points at which the authors of one account can be proven to fork in another account's zone. Each proof takes a record
  /// of an honest device. If an account is proven to fork at more, all its authors are cut at zero there.
  package static let forksOfAccount = 32
  /// Records in which one account leaves a share. Further ones have no effect, because each has to be compared with
  /// every record that let somebody in.
  package static let leaves = 64
  /// Change sets, without their bodies, in one message that shows a part of an author's log.
  package static let excerpt = 64
  /// Bytes of a change set's header, the hash of its body, and its signature. This version uses at most 322.
  package static let signedHeader = 512
  /// Bytes of the beginning of an id, for comparing logs. It takes 2⁶⁴ tries to make two change sets whose ids agree in
  /// that many bytes.
  package static let tipPrefix = 16
  /// Bytes of the name of a device or share.
  package static let deviceName = 64
  /// Bytes of the name of an account.
  package static let accountName = 64
  /// Devices of an account: those that are not revoked, and all that it ever had.
  package static let liveDevices = 32
  /// Devices that an account ever certifies, revoked ones included.
  package static let devicesEver = 512
  /// Promotions of administrators that one key of an account ever signs.
  package static let promotions = 8
  /// Certificates that one promotion allows an administrator to sign, and likewise revocations. Together with the
  /// account's own, they fit into one message.
  package static let administratorSignatures = 32
  /// Certificates that an account state keeps, and likewise revocations: those of the account's key and of its
  /// administrators.
  package static let certificates = devicesEver + promotions * administratorSignatures
  /// Revocations that an account state keeps.
  package static let revocations = certificates
  /// The greatest generation of an account's key: how often it can be replaced.
  package static let keyGeneration: UInt64 = 65_535
  /// Accounts in a share. Every member keeps their states, of some kilobytes each.
  package static let participants = 1_024
  /// Accounts whose states two devices compare in one message. As many as fit.
  package static let accountHeads = 16_384
  /// Parents of a control record, and tips of a control log.
  package static let controlHeads = 64
  /// Bytes of one control record.
  package static let controlRecord = 16 << 10
  /// Authors whose cutoffs a record can name when their account loses the permission to write: ten devices with all
  /// their instances. Each takes at most 82 bytes, beside 64 parents of 32 bytes.
  package static let cutAuthors = 160
  /// Accounts whose admissions stay valid when an invite is revoked. Each takes 32 bytes, beside 64 parents of 32
  /// bytes.
  package static let standingAccounts = 400
  /// Tips of a control log in one message. If there are more, the sender names the first ones, and the peer may send
  /// records that are here already.
  package static let toldHeads = 1_024
  /// Control records, keys, or epochs whose keys are asked for, in one message. Each takes the time of a signature or a
  /// seal, and all other work of the receiver waits for one message. The same number of records of the greatest size
  /// fit.
  package static let controlBatch = 64
  /// Change sets in one message. The message can't hold more, because each takes over 200 bytes. The bound exists
  /// because a count is checked before its elements are read.
  package static let changeSetBatch = 65_536
  /// Bytes of a key sealed to a device. This version uses 80.
  package static let sealedKey = 256
  /// Bytes of the text of a goodbye: a sentence or two.
  package static let goodbyeText = 1_024
  /// Versions of the session protocol that a hello offers.
  package static let versions = 16
  /// Addresses in an invite's text.
  package static let inviteAddresses = 8
  /// Zones that two accounts have in common, as tags.
  package static let zones = 4_096
}

/// The limits that this implementation chose. Another implementation may choose others and still interoperate.
package enum Choices {
  /// Records in one flush part, one apply slice, or one atomic unit. This bounds the time for which the write lock is
  /// held. An apply slice also ends after 64 MiB of values that travel in pieces (`longValue`), so a unit with more
  /// of them is not atomic.
  package static let slice = 1_000
  /// Milliseconds by which a change set's time may be ahead of this machine's clock before the change set has to wait.
  package static let clockBound: Int64 = 5 * 60 * 1_000
  /// The greatest number of a control record: two for each revocation of as many devices as an account ever has, and as
  /// many again. The author sets the number and signs it, so every device refuses the same records.
  package static let controlRecords = 2_048
  /// Control records that a device may have written when it proves what others did. It keeps the rest of its numbers
  /// for its own acts.
  package static let provingRecords = controlRecords / 2
  /// Control records of one account in a zone that are accepted from its own devices: two devices that use up their
  /// numbers.
  package static let controlRecordsOfAccount = 2 * controlRecords
  /// Bytes of control records of one account in a zone that are accepted from its own devices: 2 KiB for each record. A
  /// record of an honest device takes some 300 bytes.
  package static let controlBytesOfAccount = 8 << 20
  /// The factor by which the bound is higher for records that other accounts relay, which accepted them within their
  /// own bounds. Otherwise an honest record could lack a parent. For records from the owner's devices and from the
  /// account's own, the factor is as high for each account of the zone.
  package static let relayedControl = 2
  /// Records of its own log that one account's news may make a node read at once, and the number per millisecond after
  /// that. All records are read whenever the state of a log is read. Therefore a longer log is read less often.
  package static let controlReading = 4_096
  /// The number of records per millisecond (see `controlReading`).
  package static let controlReadingPerMillisecond = 1
  /// Bytes of control logs that an account's devices may be sent at once, or twice the log if that is more. The second
  /// number is the bytes per millisecond after that. Devices get the rest later.
  package static let controlSending = 4 << 20
  /// The number of bytes per millisecond (see `controlSending`).
  package static let controlSendingPerMillisecond = 256
  /// Control records that a joining device accepts: those of some accounts that fill their bounds.
  package static let joinedControlRecords = 65_536
  /// Bytes of account states that a joining device verifies beside its own state and the owner's. This takes about a
  /// second. If there are more, the largest are left out.
  package static let joinedAccounts = 2 << 20
  /// Bytes in a session's outgoing queue above which data that can wait is held back. It is half of the size that ends
  /// the session.
  package static let outflow = 4 << 20
  /// Chunks of assets that are held back for one session. A peer that asks for more has to ask again later.
  package static let chunksKeptBack = 256
  /// Keys of a zone's epochs that are kept, beside those that this account and the zone's owner minted. They take 4 MiB
  /// in the home. An honest zone has one key for each removal, revocation or lost device.
  package static let epochKeys = 65_536
  /// Sessions with peers whose hello has arrived. Above that, the newest session of the other account that has the most
  /// sessions ends.
  package static let sessions = 384
  /// Sessions with peers whose hello has not arrived, or that use an invite. The oldest gives way.
  package static let unnamedSessions = 64
  /// Bytes that a peer may send before its hello, to show who let its account in.
  package static let introduction = 64 << 10
  /// Sessions of one other account. An honest account has no more devices.
  package static let sessionsOfAccount = Limits.liveDevices
  /// Sessions that one other account may open at once, with four more each second after that. Each costs a few
  /// milliseconds.
  package static let sessionsOpened = 8 * Limits.liveDevices
  /// The least number of control log bytes that a device with an invite is charged for, even if the log is shorter.
  package static let leastShown = 16 << 10
  /// Bytes of account states that one account's sessions may show before records name those accounts. This is enough
  /// for thousands of accounts with a few devices.
  package static let offeredAccounts = 8 << 20
  /// Bytes of overwritten BLOBs that a device keeps to restore them, unless `config.toml` says otherwise.
  package static let keptBlobs = 1 << 30
  /// Bytes of change sets that are read to show a part of an author's log.
  package static let excerptBytes = 8 << 20
  /// Bytes of change sets that a sender may have sent without an answer.
  package static let creditWindow = 8 << 20
}
