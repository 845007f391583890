import MeshCore

/// A record's identity inside a zone: `mesh_table.id` and the canonical key.
struct RecordRef: Hashable {
  let table: Int64
  let key: Value
}

/// One row of `mesh_record`.
struct StoredRecord {
  var generation: UInt64
  /// Nil where the record is deleted.
  var hash: RecordHash?
  var stamps: RecordStamps
  /// Merged values that the table does not show: of columns that this schema lacks, of references shown as NULL or
  /// default, of columns whose type would change the value; all of them where the record is held.
  var extra: [Int64: Value] = [:]
  /// What its row has in columns with assets: the asset that is merged, which is then not in `extra`. For a column that is in `extra`
  /// as well: what the row goes on showing, because the merged asset is not complete here (NULL if nothing is listed) or because the
  /// table refuses the merged value. If the record is held, what the table accepted last of refused columns, and nothing else. If it
  /// is held as `untracked`, or was deleted meanwhile: what its row showed, in the columns where something else is merged.
  var shown: [Int64: Value] = [:]
  var held: HeldReason?
  /// Since when the record is out of its table, or its row is older than what is merged because the table refuses that, in
  /// milliseconds since 1970; nil if neither.
  var heldSince: Int64?

  var isAlive: Bool { generation.isAlive }
  /// The row is in its table, as far as we know.
  var isShown: Bool { isAlive && held == nil }

  /// The table refuses the merged version, and the row is the last one that it accepted.
  var isRefused: Bool { isShown && heldSince != nil && shown.keys.contains { extra[$0] != nil } }

  /// The row shows something else than the merged value in the column: what a program writes there is an edit, even if the row then
  /// shows the same as before.
  func hides(_ column: Int64) -> Bool { extra[column].map { $0.asset != nil || shown[column] != nil } ?? false }

  /// What the table accepted last in the columns whose merged values it refuses, apart from assets.
  var accepted: [Int64: Value] {
    heldSince == nil ? [:] : shown.filter { extra[$0.key] != nil && $0.value.asset == nil }
  }
}

extension StoredRecord {
  /// Its row was in the table when that stopped being synchronized.
  var hasBase: Bool { held == .untracked || !isAlive && !shown.isEmpty }

  /// What its row showed in a column when its table stopped being synchronized.
  func base(_ column: Int64) -> Value? { shown[column] ?? extra[column] }

  /// Keeps what the row showed where that is not what is merged now. Of a deleted record all is kept but long BLOBs, which are in the
  /// row alone.
  mutating func noteBase(_ base: [Int64: Value]) {
    shown = base.filter { isAlive ? extra[$0.key] != $0.value : $0.value.asset == nil }
  }

  /// - Parameter old: The record as it was before something was merged, while its table was not synchronized.
  mutating func keepBase(of old: StoredRecord?) {
    guard let old, old.hasBase else { return }
    if isAlive { held = .untracked }
    let base = old.extra.merging(old.shown) { $1 }
    // The row has never shown a column that came since.
    noteBase(extra.mapValues { _ in .null }.merging(base) { $1 })
  }

  /// One row of `mesh_asset_use`.
  struct AssetUse: Hashable {
    let column: Int64
    let asset: AssetID
    let isShown: Bool
    /// Whoever wrote it: a `mesh_author.id`.
    let author: Int64
  }

  /// The assets that are merged.
  var assetUses: Set<AssetUse> {
    if extra.isEmpty, shown.isEmpty { return [] }
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

/// The form of values in our tables: count, then column, type and value. Not the wire's, whose values are shorter.
enum ExtraValues {
  private enum Tag {
    static let null: UInt8 = 0
    static let integer: UInt8 = 1
    static let real: UInt8 = 2
    static let text: UInt8 = 3
    static let blob: UInt8 = 4
    static let asset: UInt8 = 5
  }

  /// Stands for no column: under it is `StoredRecord.heldSince`. So a held record always has something here, and is
  /// found by what looks for held records, be it nothing but its key.
  private static let heldSince: Int64 = 0

  /// Of `mesh_record.extra`; nil where there is nothing.
  static func encode(_ record: StoredRecord) -> [UInt8]? {
    let extra = record.heldSince.map { record.extra.merging([heldSince: .integer($0)]) { $1 } } ?? record.extra
    guard !record.shown.isEmpty else { return encode(extra) }
    // What the row shows follows what it does not show.
    var writer = ByteWriter()
    write(extra, &writer)
    write(record.shown, &writer)
    return writer.bytes
  }

  static func decode(_ bytes: [UInt8], into record: inout StoredRecord) throws(DecodingError) {
    var reader = ByteReader(bytes)
    record.extra = try read(&reader)
    record.shown = reader.isAtEnd ? [:] : try read(&reader)
    try reader.end()
    if case .integer(let since) = record.extra.removeValue(forKey: heldSince) { record.heldSince = since }
  }

  /// What the row shows of assets, or in the place of merged values.
  static func decodeShown(_ bytes: [UInt8]) throws(DecodingError) -> [Value] {
    var reader = ByteReader(bytes)
    let _: [Int64: Value] = try read(&reader)
    guard !reader.isAtEnd else { return [] }
    let shown: [Int64: Value] = try read(&reader)
    return Array(shown.values)
  }

  /// Nil where there are none.
  static func encode(_ values: [Int64: Value]) -> [UInt8]? {
    guard !values.isEmpty else { return nil }
    var writer = ByteWriter()
    write(values, &writer)
    return writer.bytes
  }

  static func decode(_ bytes: [UInt8]) throws(DecodingError) -> [Int64: Value] {
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

  fileprivate static func read(_ reader: inout ByteReader) throws(DecodingError) -> [Int64: Value] {
    var values: [Int64: Value] = [:]
    for _ in 0..<(try reader.count(Int.max, "extra values")) {
      let column = Int64(try reader.count(Int.max, "column"))
      let value: Value = try read(&reader)
      values[column] = value
    }
    return values
  }

  /// One value alone, as conflicts keep it.
  static func encode(_ value: Value) -> [UInt8] {
    var writer = ByteWriter()
    write(value, &writer)
    return writer.bytes
  }

  static func decodeValue(_ bytes: [UInt8]) throws(DecodingError) -> Value {
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

  private static func read(_ reader: inout ByteReader) throws(DecodingError) -> Value {
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
