import MeshCore

/// The bounds of this store. Another implementation may choose others and still interoperate.
enum StoreLimits {
  /// The greatest number of parts of a local unit. They have 256 MiB at most, which is half of what a receiver keeps
  /// waiting. A larger transaction becomes several units.
  static let unitParts: UInt64 = 256
  /// The number of parts of a local unit between two fsyncs. No device merges a part before the unit's end, so several
  /// parts can share an fsync.
  static let partsPerSync: UInt64 = 16
  /// The rows of the pending log that are sorted by record and flushed as one unit.
  ///
  /// Other devices merge the first unit of a long log while the next one is flushed. More rows would take longer to sort
  /// than to write. Fewer rows would spread each part over more pages. The rows are sorted in about 4 MiB of memory, and one
  /// transaction within the bound of locks removes them from the log.
  static let runRows: Int64 = 32_000
  /// The bytes of an account's change sets that may be stored and not merged, over all its devices: two units of the
  /// largest size.
  static let waitingBytes: Int64 = 512 << 20
  /// The same for all accounts together: four accounts that use all of theirs.
  static let waitingBytesOfAll: Int64 = 2 << 30
  /// The bytes that an account may have waiting even if the others use all of that. Otherwise four accounts could stop
  /// the rest.
  static let waitingShare: Int64 = 64 << 20
  /// The number of another account's devices whose descriptions of tables are kept: 4 MiB.
  static let schemasOfAccount = 4
  /// The greatest number of policies that are kept for one owner of shares.
  static let policies: Int64 = 4_096
  /// The number of columns that SQLite reads again while one transaction adds columns to tables: for each new column,
  /// all that the table has. They take about 100 ms.
  static let columnReads = 50_000
  /// The rows of the pending log that one part of a flush reads. Many writes of few records must not fill the memory.
  static let pendingRows = 20_000
  /// The number of records whose states a cut has in memory at one time, about 25 MiB if they are short. The zone's log is
  /// read once for each such group.
  static let restatedTogether = 16 * Choices.slice
  /// The rows that a unit takes from a transaction's budget in addition to its own. Merging a unit of one row costs as much
  /// as merging this many rows of a large unit.
  static let rowsOfUnit = 4
  /// The cells of merged records after which a transaction merges no more units. An edit of one cell costs as much as all
  /// cells of its record, because the record's hash covers them.
  static let cellsTogether = 20_000
  /// The bytes of a value that travels among others. A longer value travels in pieces of its own.
  static let inlineValue = 256 << 10
  /// The bytes of values in pieces after which a transaction merges no more rows: the size of the longest value.
  /// Programs wait for the transaction's write lock.
  static let longBytesTogether = Limits.longValue
  /// The bytes of an asset that may be in memory as a whole. If a column is not the last one of a rowid table, SQLite
  /// rewrites the whole row, which takes twice the BLOB's size. Longer BLOBs are not sent from such a column.
  static let assetInMemory = 64 << 20
  /// The bytes of an asset that is written with its row in one statement, so that triggers and checks see it. For a longer
  /// one, a statement makes room, and the bytes are written in place afterwards.
  static let assetInStatement = 1 << 20
  /// The bytes of BLOBs that are hashed while others wait for the write lock. It takes a few milliseconds.
  static let hashedUnderLock = 4 << 20
  /// The bytes of assets that are downloaded at one time, or one asset. The staging takes as much, in addition to what it
  /// keeps for held records.
  static let stagedBytes = 4 << 30
  /// The same for the assets of one device: the longest asset, and some others.
  static let stagedBytesOfDevice = 2 << 30
  /// The bytes of assets that one transaction puts in place, or one asset.
  static let placedBytes = 8 << 20
  /// The number of rows into which one transaction puts assets.
  static let placedRows = 200
  /// The number of records that are compared to find out whether another device renamed a column.
  static let recordsThatTell = 100
  /// The number of conflicts that are kept for each zone. With usual values they take some megabytes.
  static let conflicts: Int64 = 10_000
  /// The number of new conflicts after which the store counts the zone's conflicts again.
  static let conflictsBetweenLooks: Int64 = 2_048
  /// The number of rows that one transaction imports or checks again. Each is one short row of the pending log.
  static let importSlice = 10_000
  /// The number of times that a flush starts over because another program was faster. Then it leaves the rest to the next
  /// call.
  static let flushAttempts = 8
}
