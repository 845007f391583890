import MeshCore

/// A record's identity inside a zone: its `mesh_table.id` and its canonical key.
struct RecordRef: Hashable {
  let table: Int64
  let key: Value
}

/// One row of `mesh_record`.
struct StoredRecord {
  var generation: UInt64
  /// The record's hash, or nil if it is deleted.
  var hash: RecordHash?
  var stamps: RecordStamps
  /// Merged values that the table doesn't show. They belong to columns that this schema lacks, to references shown as
  /// NULL or default, and to columns whose type would change the value. If the record is held, it contains all values.
  var extra: [Int64: Value] = [:]
  /// Values that the row has. The meaning depends on the record:
  ///
  /// - For a column with an asset that is not in `extra`: the merged asset.
  /// - For a column that is also in `extra`: the value that the row still shows. The merged asset is not complete here
  ///   (NULL if nothing is listed), or the table refuses the merged value.
  /// - If the record is held: the last accepted values of refused columns, and nothing else.
  /// - If it is held as `untracked`, or was deleted meanwhile: the values that its row showed, in columns with other
  ///   merged values.
  var shown: [Int64: Value] = [:]
  var held: HeldReason?
  /// The time since which the record is out of its table, or its row is older than the merged values because the table
  /// refuses them. In milliseconds since 1970. Nil if neither is the case.
  var heldSince: Int64?
  /// Whether a write of another device was merged since its table stopped being synchronized. Until then, `shown` only
  /// has values that the row showed in place of merged ones, such as the sum of a counter.
  var isEditedMeanwhile = false

  var isAlive: Bool { generation.isAlive }
  /// Whether the row is in its table, as far as mesh knows.
  var isShown: Bool { isAlive && held == nil }

  /// Whether the table refuses the merged version, and the row is the last version that it accepted.
  var isRefused: Bool { isShown && heldSince != nil && shown.keys.contains { extra[$0] != nil } }

  /// Returns whether the row shows a value other than the merged one in the column. A program's write to such a column
  /// is an edit, even if the row then shows the same as before.
  func hides(_ column: Int64) -> Bool { extra[column].map { $0.asset != nil || shown[column] != nil } ?? false }

  /// Returns the merged value of a column that the row has not shown yet, because the column was only just added to the
  /// table. The writer of the column had not seen that value. Columns that differ because of a missing parent, a
  /// missing BLOB, an unfit type or a refused value don't count.
  ///
  /// - Parameter index: The column's index in the table.
  func unseen(_ index: Int, _ table: TableForm) -> Value? {
    let column = table.columns[index].id
    guard isShown, let value = extra[column], !hides(column), table.columns[index].schema.affinity.keeps(value),
      !table.references.contains(where: { $0.isReset && $0.column == index })
    else { return nil }
    return value
  }

  /// The values that the table last accepted in columns whose merged values it refuses, except assets.
  var accepted: [Int64: Value] {
    heldSince == nil ? [:] : shown.filter { extra[$0.key] != nil && $0.value.asset == nil }
  }
}

extension StoredRecord {
  /// Whether its row was in the table when the table stopped being synchronized.
  var hasBase: Bool { held == .untracked || !isAlive && !shown.isEmpty }

  /// Returns the value that its row showed in a column when its table stopped being synchronized.
  func base(_ column: Int64) -> Value? { shown[column] ?? extra[column] }

  /// Stores the row's values that differ from the merged ones. For a deleted record, these are all values.
  mutating func noteBase(_ base: [Int64: Value]) { shown = base.filter { extra[$0.key] != $0.value } }

  /// Keeps the values that the row showed when its table stopped being synchronized.
  ///
  /// - Parameter old: The record before the merge, which happened while its table was not synchronized.
  mutating func keepBase(of old: StoredRecord?) {
    guard let old, old.hasBase else { return }
    if isAlive { held = .untracked }
    let base = old.extra.merging(old.shown) { $1 }
    // Columns that only continue under other names keep their stamps.
    isEditedMeanwhile = old.isEditedMeanwhile || !stamps.all.isSubset(of: old.stamps.all)
    // The row has never shown a column that was added since.
    noteBase(extra.mapValues { _ in .null }.merging(base) { $1 })
  }

  /// One row of `mesh_asset_use`.
  struct AssetUse: Hashable {
    let column: Int64
    let asset: AssetID
    let isShown: Bool
    /// The `mesh_author.id` of the author who wrote it.
    let author: Int64
  }

  /// The assets that are merged.
  var assetUses: Set<AssetUse> {
    // A deleted record names the BLOBs of a row that is about to go, and doesn't keep them.
    if !isAlive || extra.isEmpty && shown.isEmpty { return [] }
    var uses: Set<AssetUse> = []
    for (column, value) in extra {
      if let asset = value.asset { uses.insert(use(asset, column, isShown: false)) }
    }
    for (column, value) in shown where extra[column] == nil {
      if let asset = value.asset { uses.insert(use(asset, column, isShown: true)) }
    }
    return uses
  }

  private func use(_ asset: Asset, _ column: Int64, isShown: Bool) -> AssetUse {
    AssetUse(column: column, asset: asset.id, isShown: isShown, author: stamps.stamp(of: column).author)
  }
}

/// The encoding of values in the tables of mesh: the count, then column, type and value of each. It differs from the
/// wire format, whose values are shorter.
enum ExtraValues {
  private enum Tag {
    static let null: UInt8 = 0
    static let integer: UInt8 = 1
    static let real: UInt8 = 2
    static let text: UInt8 = 3
    static let blob: UInt8 = 4
    static let asset: UInt8 = 5
  }

  /// A column number that stands for `StoredRecord.heldSince`. Because of this entry, a held record always has a value
  /// here, even if it has only a key, and searches for held records find it.
  private static let heldSince: Int64 = 0
  /// A column number among the shown values that stands for `StoredRecord.isEditedMeanwhile`.
  private static let editedMeanwhile: Int64 = 0

  /// Returns the value of `mesh_record.extra`, or nil if there is nothing to store.
  static func encode(_ record: StoredRecord) -> [UInt8]? {
    let extra = record.heldSince.map { record.extra.merging([heldSince: .integer($0)]) { $1 } } ?? record.extra
    let shown =
      record.isEditedMeanwhile ? record.shown.merging([editedMeanwhile: .integer(1)]) { $1 } : record.shown
    guard !shown.isEmpty else { return encode(extra) }
    // The values that the row shows follow those that it doesn't show.
    var writer = ByteWriter()
    write(extra, &writer)
    write(shown, &writer)
    return writer.bytes
  }

  static func decode(_ bytes: [UInt8], into record: inout StoredRecord) throws(FormatError) {
    var reader = ByteReader(bytes)
    record.extra = try read(&reader)
    record.shown = reader.isAtEnd ? [:] : try read(&reader)
    try reader.end()
    if case .integer(let since) = record.extra.removeValue(forKey: heldSince) { record.heldSince = since }
    record.isEditedMeanwhile = record.shown.removeValue(forKey: editedMeanwhile) != nil
  }

  /// Returns the assets that the row shows, and the values that it shows in place of merged ones.
  static func decodeShown(_ bytes: [UInt8]) throws(FormatError) -> [Value] {
    var reader = ByteReader(bytes)
    let _: [Int64: Value] = try read(&reader)
    guard !reader.isAtEnd else { return [] }
    let shown: [Int64: Value] = try read(&reader)
    return Array(shown.values)
  }

  /// Returns nil if there are no values.
  static func encode(_ values: [Int64: Value]) -> [UInt8]? {
    guard !values.isEmpty else { return nil }
    var writer = ByteWriter()
    write(values, &writer)
    return writer.bytes
  }

  static func decode(_ bytes: [UInt8]) throws(FormatError) -> [Int64: Value] {
    var reader = ByteReader(bytes)
    let values: [Int64: Value] = try read(&reader)
    try reader.end()
    return values
  }

  fileprivate static func write(_ values: [Int64: Value], _ writer: inout ByteWriter) {
    writer.list(values.keys.sorted()) { writer, column in
      writer.varint(UInt64(column))
      write(values[column] ?? .null, &writer)
    }
  }

  fileprivate static func read(_ reader: inout ByteReader) throws(FormatError) -> [Int64: Value] {
    var values: [Int64: Value] = [:]
    for _ in 0..<(try reader.count(Int.max, "extra values")) {
      let column = Int64(try reader.count(Int.max, "column"))
      let value: Value = try read(&reader)
      values[column] = value
    }
    return values
  }

  /// Returns the encoding of a single value, as conflicts store it.
  static func encode(_ value: Value) -> [UInt8] {
    var writer = ByteWriter()
    write(value, &writer)
    return writer.bytes
  }

  static func decodeValue(_ bytes: [UInt8]) throws(FormatError) -> Value {
    var reader = ByteReader(bytes)
    return try read(&reader)
  }

  private static func write(_ value: Value, _ writer: inout ByteWriter) {
    switch value {
    case .null: writer.byte(Tag.null)
    case .integer(let integer):
      writer.byte(Tag.integer)
      writer.signedVarint(integer)
    case .real(let bits):
      writer.byte(Tag.real)
      writer.uint64(bits)
    case .text(let bytes):
      writer.byte(Tag.text)
      writer.sized(bytes)
    case .blob(let bytes):
      writer.byte(Tag.blob)
      writer.sized(bytes)
    case .asset(let asset):
      writer.byte(Tag.asset)
      asset.id.write(to: &writer)
      writer.varint(asset.size)
    }
  }

  private static func read(_ reader: inout ByteReader) throws(FormatError) -> Value {
    switch try reader.byte() {
    case Tag.null: return .null
    case Tag.integer: return .integer(try reader.signedVarint())
    case Tag.real: return .real(try reader.uint64())
    case Tag.text: return .text(try reader.sized(Int.max, "text"))
    case Tag.blob: return .blob(try reader.sized(Int.max, "blob"))
    case Tag.asset:
      let id = try AssetID(from: &reader)
      return .asset(Asset(id: id, size: try reader.count(Int.max, "asset")))
    default: throw .unknown("value tag")
    }
  }
}
