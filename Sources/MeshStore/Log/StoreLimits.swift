import MeshCore

/// Bounds of this store; another may choose others and still interoperate.
enum StoreLimits {
  /// Parts of one local unit: 256 MiB at most, half of what a receiver keeps waiting for. A larger transaction is
  /// several units.
  static let unitParts: UInt64 = 256
  /// Parts of a local unit between two fsyncs: nobody merges them before its end, so they can wait for each other.
  static let partsPerSync: UInt64 = 16
  /// Rows of the pending log that are sorted by their records and flushed as one unit. Others merge a unit once it has ended, so
  /// that they merge the first of a long log while the next is flushed; more rows would be sorted slower than they are written,
  /// fewer would spread each part over more pages. They are sorted in memory (some 4 MiB), and go from the log in one
  /// transaction, within the bound of locks.
  static let runRows: Int64 = 32_000
  /// Bytes of one account's change sets that are stored and not merged, over its devices: two units of the largest size.
  static let waitingBytes: Int64 = 512 << 20
  /// The same of all accounts: four that fill theirs.
  static let waitingBytesOfAll: Int64 = 2 << 30
  /// What each account may have waiting even then, so that no four can stop the others.
  static let waitingShare: Int64 = 64 << 20
  /// Devices of another account whose descriptions of tables are kept: 4 MiB.
  static let schemasOfAccount = 4
  /// The greatest number of policies that are kept of one owner of shares.
  static let policies: Int64 = 4_096
  /// Columns that one transaction adds to tables: with 2,000 columns in a table, each takes some 4 ms.
  static let columnsTogether = 256
  /// Rows of the pending log that one flush part reads: many writes of few records must not fill the memory.
  static let pendingRows = 20_000
  /// Records whose states a cut has in memory at one time (some 25 MiB, where they are short): for each so many it reads the log
  /// of the zone.
  static let restatedTogether = 16 * Choices.slice
  /// The rows of the budget of a transaction that each unit takes beside its own: a unit of one row costs as much as so many
  /// rows of a large one.
  static let rowsOfUnit = 4
  /// Bytes of a value that travels among others; a longer one travels in pieces of its own.
  static let inlineValue = 256 << 10
  /// The bytes of values in pieces after which a transaction merges no more rows: as many as one value may have.
  /// Programs wait for its write lock.
  static let longBytesTogether = Limits.longValue
  /// Bytes of an asset that is in memory as a whole: where a column is not the last of a rowid table, SQLite rewrites the row
  /// there (measured: twice the BLOB). Longer ones are not sent from such a column.
  static let assetInMemory = 64 << 20
  /// Bytes of an asset that is written with its row in one statement, so that triggers and checks see it; longer ones are
  /// written in place after a statement that makes room for them.
  static let assetInStatement = 1 << 20
  /// Bytes of BLOBs that are hashed while others wait for the write lock: some milliseconds.
  static let hashedUnderLock = 4 << 20
  /// Bytes of assets that are fetched at one time, or one asset: what the staging takes beside what it keeps for held records.
  static let stagedBytes = 4 << 30
  /// The same of one device's assets: the longest, and some others.
  static let stagedBytesOfDevice = 2 << 30
  /// Bytes of assets that one transaction puts in place, or one asset.
  static let placedBytes = 8 << 20
  /// Rows into which one transaction puts assets.
  static let placedRows = 200
  /// Records that are looked at to find out whether another device renamed a column.
  static let recordsThatTell = 100
  /// Conflicts that are kept of each zone: some megabytes of usual values.
  static let conflicts: Int64 = 10_000
  /// Conflicts that are listed before it is looked at again whether a zone has more.
  static let conflictsBetweenLooks: Int64 = 256
  /// Rows that are taken in (or looked at again) in one transaction: each is one short row of the pending log.
  static let importSlice = 10_000
  /// Times that a flush starts over because other writers were faster; then it leaves the rest to the next call.
  static let flushAttempts = 8
}
