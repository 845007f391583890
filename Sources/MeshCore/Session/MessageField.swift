/// A field of a message that can be written.
protocol WrittenField {
  func write(to writer: inout ByteWriter)
}

/// A field whose type has one form in all messages.
protocol PlainField: WrittenField, Sendable {
  init(from reader: inout ByteReader) throws(FormatError)
}

extension Acknowledgement: PlainField {}
extension AssetBacklog: PlainField {}
extension Author: PlainField {}
extension Certificate: PlainField {}
extension ChunkSet: PlainField {}
extension DeviceClaim: PlainField {}
extension Hello: PlainField {}
extension Identifier: PlainField {}
extension NamedPolicies: PlainField {}
extension NamedFormerNames: PlainField {}
extension SchemaDescription: PlainField {}
extension ShareClaim: PlainField {}
extension VersionVector: PlainField {}

extension Message.LogTip: PlainField {
  func write(to writer: inout ByteWriter) {
    writer.varint(number)
    writer.raw(prefix)
  }
}

extension NamedRules: PlainField {
  func write(to writer: inout ByteWriter) {
    writer.text(table)
    rules.write(to: &writer)
  }

  init(from reader: inout ByteReader) throws(FormatError) {
    self.init(table: try reader.text(Limits.name, "table name"), rules: try SchemaRules(from: &reader))
  }
}

extension ZoneDigest: PlainField {
  func write(to writer: inout ByteWriter) {
    writer.varint(records)
    writer.sized(hash)
  }

  init(from reader: inout ByteReader) throws(FormatError) {
    self.init(records: try reader.varint(), hash: try reader.sized(32, "digest"))
  }
}

/// How a field of a message is written, and how it is read.
struct FieldForm<Value>: Sendable {
  let write: @Sendable (inout ByteWriter, Value) -> Void
  let read: @Sendable (inout ByteReader) throws(FormatError) -> Value

  /// A value together with its form.
  struct Field: WrittenField {
    let form: FieldForm
    let value: Value
    func write(to writer: inout ByteWriter) { form.write(&writer, value) }
  }

  func callAsFunction(_ value: Value) -> Field { Field(form: self, value: value) }
}

extension ByteReader {
  mutating func field<Value: PlainField>() throws(FormatError) -> Value { try Value(from: &self) }
  mutating func field<Value>(_ form: FieldForm<Value>) throws(FormatError) -> Value { try form.read(&self) }
}

/// The forms of fields whose types can have several, with their limits.
enum MessageField {
  static let goodbye = byte(Message.Goodbye.self, "goodbye")
  static let goodbyeText = text(Limits.goodbyeText, "goodbye text")
  static let accountState = bytes(Limits.message, "account state")
  static let zoneTags = list(Limits.zones, "zones", of: raw(16))
  /// A member that forks the log on purpose must not keep others from naming their tips.
  static let controlHeads = FieldForm<[ControlID]>(
    write: { toldHeads.write(&$0, Array($1.prefix(Limits.toldHeads))) }, read: toldHeads.read)
  static let controlRecords = blobs(Limits.controlBatch, Limits.controlRecord, "control record")
  static let epochs: FieldForm<[EpochID]> = list(Limits.controlBatch, "ids", of: plain())
  static let keys: FieldForm<[EpochID: [UInt8]]> = map(
    Limits.controlBatch, "keys", by: "epochs", of: bytes(Limits.sealedKey, "sealed key"))
  static let changeSets = blobs(Limits.changeSetBatch, Limits.changeSet, "change set")
  static let unsent = byte(Unsent.self, "unsent rows")
  static let schema: FieldForm<[SchemaDescription]> = list(Limits.tables, "tables", of: plain())
  static let rules: FieldForm<[NamedRules]> = list(Limits.tables, "tables", of: plain())
  static let policies: FieldForm<[NamedPolicies]> = list(Limits.tables, "tables", of: plain())
  static let formerNames: FieldForm<[NamedFormerNames]> = list(Limits.tables, "tables", of: plain())
  static let tips: FieldForm<[Author: Message.LogTip]> = map(
    Limits.authors, "authors", by: "authors", of: plain())
  static let headers = blobs(Limits.excerpt, Limits.signedHeader, "signed header")
  static let accountHeads: FieldForm<[AccountID: [UInt8]]> = map(
    Limits.accountHeads, "accounts", by: "accounts", of: raw(32))
  static let chunk = count(chunks - 1, "chunk")
  static let chunkBytes = bytes(Limits.chunk, "chunk")

  static let number = FieldForm<UInt64>(
    write: { $0.varint($1) }, read: { reader throws(FormatError) in try reader.varint() })
  static let word = FieldForm<UInt64>(
    write: { $0.uint64($1) }, read: { reader throws(FormatError) in try reader.uint64() })
  static let milliseconds = FieldForm<Int64>(
    write: { $0.signedVarint($1) }, read: { reader throws(FormatError) in try reader.signedVarint() })

  static let chunkRange = FieldForm<Range<Int>>(
    write: { writer, range in
      writer.varint(range.lowerBound)
      writer.varint(range.count)
    },
    read: { reader throws(FormatError) in
      let first = try reader.field(chunk)
      return first..<first + (try reader.count(min(Limits.chunksWanted, chunks - first), "chunks"))
    })

  /// No chunks at all stand for an asset that the sender doesn't know.
  static let knownChunks = FieldForm<ChunkSet?>(
    write: { ($1 ?? ChunkSet(count: 0)).write(to: &$0) },
    read: { reader throws(FormatError) in
      let chunks = try ChunkSet(from: &reader)
      return chunks.count == 0 ? nil : chunks
    })

  static let accountName = FieldForm<String>(
    write: { $0.text($1) },
    read: { reader throws(FormatError) in
      let name = try reader.text(Limits.accountName, "account name")
      guard !name.isEmpty, name == printable(name) else { throw .invalid("an account name has no control characters") }
      return name
    })

  /// The number of chunks of the longest asset.
  private static let chunks = Asset.chunkCount(size: Limits.asset)
  private static let toldHeads: FieldForm<[ControlID]> = list(Limits.toldHeads, "ids", of: plain())

  // MARK: - Forms made of others

  private static func plain<Value: PlainField>() -> FieldForm<Value> {
    FieldForm(
      write: { $1.write(to: &$0) }, read: { reader throws(FormatError) in try Value(from: &reader) })
  }

  private static func byte<Value: RawRepresentable<UInt8> & Sendable>(_ type: Value.Type, _ name: String) -> FieldForm<
    Value
  > {
    FieldForm(
      write: { $0.byte($1.rawValue) },
      read: { reader throws(FormatError) in
        guard let value = Value(rawValue: try reader.byte()) else { throw .unknown(name) }
        return value
      })
  }

  private static func count(_ limit: Int, _ name: String) -> FieldForm<Int> {
    FieldForm(
      write: { $0.varint($1) }, read: { reader throws(FormatError) in try reader.count(limit, name) })
  }

  private static func text(_ limit: Int, _ name: String) -> FieldForm<String> {
    FieldForm(
      write: { $0.text($1) }, read: { reader throws(FormatError) in try reader.text(limit, name) })
  }

  /// Returns the form of bytes of one length, which is not written.
  private static func raw(_ count: Int) -> FieldForm<[UInt8]> {
    FieldForm(
      write: { $0.raw($1) }, read: { reader throws(FormatError) in try reader.raw(count) })
  }

  private static func bytes(_ limit: Int, _ name: String) -> FieldForm<[UInt8]> {
    FieldForm(
      write: { $0.sized($1) }, read: { reader throws(FormatError) in try reader.sized(limit, name) })
  }

  private static func blobs(_ limit: Int, _ size: Int, _ name: String) -> FieldForm<[[UInt8]]> {
    list(limit, name, of: bytes(size, name))
  }

  private static func list<Element>(
    _ limit: Int, _ name: String, of element: FieldForm<Element>
  ) -> FieldForm<[Element]> {
    FieldForm(
      write: { $0.list($1, element.write) },
      read: { reader throws(FormatError) in try reader.list(limit, name, element.read) })
  }

  /// Returns the form of values by keys, in the order of the keys.
  private static func map<Key: PlainField & Comparable & Hashable, Value>(
    _ limit: Int, _ name: String, by keys: String, of value: FieldForm<Value>
  ) -> FieldForm<[Key: Value]> {
    FieldForm(
      write: { writer, entries in
        writer.list(entries.sorted { $0.key < $1.key }) {
          $1.key.write(to: &$0)
          value.write(&$0, $1.value)
        }
      },
      read: { reader throws(FormatError) in
        var entries: [Key: Value] = [:]
        var previous: Key?
        for _ in 0..<(try reader.count(limit, name)) {
          let key = try Key(from: &reader)
          try reader.ascend(&previous, to: key, keys)
          entries[key] = try reader.field(value)
        }
        return entries
      })
  }
}
