/// The changes of one table in a change set. Names are written once, and rows refer to columns by index.
package struct TableChanges: Hashable, Sendable {
  /// The name of the table.
  package var table: String
  /// The names of the columns that rows refer to by index.
  package var columns: [String]
  /// The changes. The encoding of a row depends on the row before it.
  package var rows: [RowChange]

  package init(table: String, columns: [String], rows: [RowChange] = []) {
    self.table = table
    self.columns = columns
    self.rows = rows
  }
}

/// A change of one record: a birth or delete (`isLife`), or an edit of some columns in a living generation.
package struct RowChange: Hashable, Sendable {
  /// The key in canonical form.
  package var key: Value
  /// The generation that the change belongs to, above zero.
  package var generation: UInt64
  /// True if this is the birth or the delete of the generation, stamped `stamp`.
  package var isLife: Bool
  /// The stamp of the birth or delete, and of each field that has none of its own.
  package var stamp: Stamp
  /// The fields in ascending order of their columns.
  package var fields: [Field]

  /// One column's new value.
  package struct Field: Hashable, Sendable {
    /// The index into the table's columns.
    package var column: Int
    /// The field's stamp, or nil if it is the row's. A stamp that equals the row's is written as if it were nil.
    package var stamp: Stamp?
    /// The value, or a reference to it.
    package var value: FieldValue

    package init(column: Int, stamp: Stamp? = nil, value: FieldValue) {
      self.column = column
      self.stamp = stamp
      self.value = value
    }
  }

  package init(key: Value, generation: UInt64, isLife: Bool, stamp: Stamp, fields: [Field]) {
    self.key = key
    self.generation = generation
    self.isLife = isLife
    self.stamp = stamp
    self.fields = fields
  }

  /// The number of elements that `Limits.elements` counts: the row and its fields.
  package var elementCount: Int { 1 + fields.count }
}

/// A value, or a reference to a value whose bytes travel elsewhere: in pieces before this part, or separately from the
/// change sets.
package enum FieldValue: Hashable, Sendable {
  /// Any value except an asset. A BLOB has at most `Limits.inlineBlob` bytes.
  case value(Value)
  /// The unit's long value number `ordinal`, of `size` bytes. It is a text, or a BLOB that is no asset, in a row with
  /// many BLOBs.
  case long(ordinal: UInt64, size: Int, isText: Bool)
  /// A BLOB that travels as an asset. The manifest has the hashes of its chunks.
  case asset(AssetManifest)

  private static let assetTag: UInt8 = 5
  private static let longText: UInt8 = 6
  private static let longBlob: UInt8 = 8

  func write(to writer: inout ByteWriter) {
    switch self {
    case .value(let value):
      value.write(to: &writer)
    case .long(let ordinal, let size, let isText):
      writer.byte(isText ? Self.longText : Self.longBlob)
      writer.varint(ordinal)
      writer.varint(size)
    case .asset(let manifest):
      writer.byte(Self.assetTag)
      manifest.write(to: &writer)
    }
  }

  init(from reader: inout ByteReader) throws(FormatError) {
    let tag = try reader.byte()
    switch tag {
    case Self.assetTag: self = .asset(try AssetManifest(from: &reader))
    case Self.longText, Self.longBlob:
      let isText = tag == Self.longText
      self = .long(
        ordinal: try reader.varint(),
        size: try reader.count(isText ? Limits.longValue : Limits.inlineBlob, "long value"), isText: isText)
    default:
      let value = try Value(tag: tag, from: &reader)
      if case .blob(let bytes) = value, Asset.isAsset(size: bytes.count) { throw .limit("blob in a change set") }
      self = .value(value)
    }
  }
}

/// The flags that say how a row is written, given the row before it in the table.
private enum RowFlag {
  static let life: UInt8 = 1
  /// The generation and the list of columns are those of the row before.
  static let sameShape: UInt8 = 2
  /// The stamp is the one of the row before.
  static let sameStamp: UInt8 = 4
  /// Some field has its own stamp. An index stands before each value: an author's index plus one, or 0 for the row's
  /// stamp.
  static let ownStamps: UInt8 = 8
  static let all: UInt8 = 15
}

extension TableChanges {
  func collectAuthors(into authors: inout AuthorTable) {
    for row in rows {
      authors.add(row.stamp.author)
      for field in row.fields { if let stamp = row.ownStamp(of: field) { authors.add(stamp.author) } }
    }
  }

  func write(to writer: inout ByteWriter, authors: AuthorTable) {
    writer.text(table)
    writer.list(columns) { $0.text($1) }
    writer.varint(rows.count)
    var before: RowChange?
    for row in rows {
      row.write(to: &writer, after: before, authors: authors)
      before = row
    }
  }

  init(from reader: inout ByteReader, authors: AuthorTable, room: inout ElementRoom) throws(FormatError) {
    table = try reader.text(Limits.name, "table name")
    columns = try reader.list(min(Limits.columns, room.left), "columns") { reader throws(FormatError) in
      try reader.text(Limits.name, "column name")
    }
    try room.take(columns.count)
    let count = try reader.count(room.left, "elements")
    try room.take(count)
    rows = []
    rows.reserveCapacity(min(count, reader.remaining))
    var before: RowChange?
    for _ in 0..<count {
      let row = try RowChange(from: &reader, after: before, columns: columns.count, authors: authors, room: &room)
      rows.append(row)
      before = row
    }
  }
}

extension RowChange {
  fileprivate func ownStamp(of field: Field) -> Stamp? { field.stamp == stamp ? nil : field.stamp }

  private func hasShape(of other: RowChange) -> Bool {
    generation == other.generation && fields.count == other.fields.count
      && fields.indices.allSatisfy { fields[$0].column == other.fields[$0].column }
  }

  func write(to writer: inout ByteWriter, after before: RowChange?, authors: AuthorTable) {
    let sameShape = before.map(hasShape) ?? false
    let sameStamp = before?.stamp == stamp
    let ownStamps = fields.contains { ownStamp(of: $0) != nil }
    writer.byte(
      (isLife ? RowFlag.life : 0) | (sameShape ? RowFlag.sameShape : 0) | (sameStamp ? RowFlag.sameStamp : 0)
        | (ownStamps ? RowFlag.ownStamps : 0))
    key.write(to: &writer)
    if !sameShape {
      writer.varint(generation)
      writer.varint(fields.count)
      var next = 0
      for field in fields {
        writer.varint(field.column - next)
        next = field.column + 1
      }
    }
    if !sameStamp {
      writer.varint(authors.index(of: stamp.author))
      writer.uint64(stamp.time.value)
    }
    for field in fields {
      if ownStamps {
        let own = ownStamp(of: field)
        writer.varint(own.map { authors.index(of: $0.author) + 1 } ?? 0)
        if let own { writer.uint64(own.time.value) }
      }
      field.value.write(to: &writer)
    }
  }

  init(
    from reader: inout ByteReader, after before: RowChange?, columns: Int, authors: AuthorTable, room: inout ElementRoom
  ) throws(FormatError) {
    let flags = try reader.byte()
    guard flags <= RowFlag.all else { throw .unknown("row flag") }
    isLife = flags & RowFlag.life != 0
    key = try Value(from: &reader)
    guard key != .null else { throw .invalid("a key is not NULL") }
    var indexes: [Int] = []
    let model = flags & RowFlag.sameShape != 0 ? before : nil
    if let model {
      generation = model.generation
    } else {
      guard flags & RowFlag.sameShape == 0 else { throw .invalid("a first row has its own shape") }
      generation = try reader.varint()
      var next = 0
      for _ in 0..<(try reader.count(columns, "fields")) {
        next += try reader.count(columns, "column index")
        guard next < columns else { throw .limit("column index") }
        indexes.append(next)
        next += 1
      }
    }
    guard generation > 0 else { throw .invalid("a generation is above zero") }
    let count = model?.fields.count ?? indexes.count
    guard generation.isAlive || (count == 0 && isLife) else { throw .invalid("a delete has no columns") }
    if flags & RowFlag.sameStamp != 0 {
      guard let before else { throw .invalid("a first row has its own stamp") }
      stamp = before.stamp
    } else {
      stamp = try Self.stamp(try reader.varint(), &reader, authors)
    }
    try room.take(count)
    fields = []
    fields.reserveCapacity(count)
    for place in 0..<count {
      var own: Stamp?
      if flags & RowFlag.ownStamps != 0 {
        let author = try reader.varint()
        if author > 0 { own = try Self.stamp(author - 1, &reader, authors) }
      }
      let column = model?.fields[place].column ?? indexes[place]
      fields.append(Field(column: column, stamp: own, value: try FieldValue(from: &reader)))
    }
    try checkFlags(flags, before)
  }

  /// Throws unless every flag is set that can be set, so that a row has only one encoding.
  private func checkFlags(_ flags: UInt8, _ before: RowChange?) throws(FormatError) {
    if let before, flags & RowFlag.sameShape == 0, hasShape(of: before) { throw .invalid("a shape is written once") }
    if let before, flags & RowFlag.sameStamp == 0, stamp == before.stamp { throw .invalid("a stamp is written once") }
    guard flags & RowFlag.ownStamps != 0 else { return }
    guard fields.contains(where: { $0.stamp != nil }), fields.allSatisfy({ $0.stamp != stamp }) else {
      throw .invalid("a field's own stamp differs from the row's")
    }
  }

  private static func stamp(
    _ index: UInt64, _ reader: inout ByteReader, _ authors: AuthorTable
  ) throws(FormatError) -> Stamp {
    guard index <= UInt64(Limits.authors), let author = authors.author(Int(index)) else { throw .limit("author index") }
    return Stamp(time: HybridTime(try reader.uint64()), author: author)
  }
}
