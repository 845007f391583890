/// The encrypted part of a change set: the state that its author had merged, and the changes, grouped by table.
package struct ChangeSetBody: Hashable, Sendable {
  /// The entries that differ from those of the author's change set before.
  package var context: CausalContext
  /// The changes, or a piece of a long value.
  package var content: Content

  /// A body has one of these contents.
  package enum Content: Hashable, Sendable {
    /// The changes, by table.
    case changes([TableChanges])
    /// A piece of a value that is too long for a change set. Pieces come before the part that refers to their value.
    case piece(LongValuePiece)
  }

  package init(context: CausalContext, content: Content) {
    self.context = context
    self.content = content
  }

  private enum Kind {
    static let changes: UInt8 = 0
    static let piece: UInt8 = 1
  }

  /// Encodes the body.
  ///
  /// - Parameter author: The author in the header. Most stamps are the author's own, so only the stamps of others name
  ///   their author.
  package func encoded(author: Author) -> [UInt8] {
    var writer = ByteWriter(capacity: 4_096)
    context.write(to: &writer)
    switch content {
    case .changes(let tables):
      writer.byte(Kind.changes)
      var authors = AuthorTable(author)
      for table in tables { table.collectAuthors(into: &authors) }
      writer.list(authors.others) { $1.write(to: &$0) }
      writer.list(tables) { $1.write(to: &$0, authors: authors) }
    case .piece(let piece):
      writer.byte(Kind.piece)
      piece.write(to: &writer)
    }
    return writer.bytes
  }

  /// Decodes a decrypted body.
  ///
  /// - Parameter author: The author in the header.
  /// - Throws: A `FormatError` if the bytes break a rule of the format.
  package init(_ bytes: [UInt8], author: Author) throws(FormatError) {
    var reader = ByteReader(bytes)
    context = try CausalContext(from: &reader)
    guard context[author] == nil else { throw .invalid("an author does not name itself in its causal past") }
    switch try reader.byte() {
    case Kind.changes:
      let others = try reader.list(Limits.authors, "authors") { (reader: inout ByteReader) throws(FormatError) in
        try Author(from: &reader)
      }
      let authors = AuthorTable(author, others: others)
      var tables: [TableChanges] = []
      var room = ElementRoom()
      for _ in 0..<(try reader.count(Limits.tables, "tables")) {
        tables.append(try TableChanges(from: &reader, authors: authors, room: &room))
      }
      var met = AuthorTable(author)
      for table in tables { table.collectAuthors(into: &met) }
      guard met.others == others else { throw .invalid("authors as the rows name them") }
      content = .changes(tables)
    case Kind.piece:
      content = .piece(try LongValuePiece(from: &reader))
    default:
      throw .unknown("change set body")
    }
    try reader.end()
  }
}

extension ChangeSetBody {
  /// The number of elements that `Limits.elements` bounds. Every reader refuses a body with more.
  package var elementCount: Int {
    guard case .changes(let tables) = content else { return 0 }
    return tables.reduce(0) { $0 + $1.columns.count + $1.rows.reduce(0) { $0 + $1.elementCount } }
  }
}

/// The number of elements that a change set may still have while it is read.
struct ElementRoom {
  private(set) var left = Limits.elements

  /// Takes `count` elements. Call it before anything is read or reserved for them.
  mutating func take(_ count: Int) throws(FormatError) {
    guard count <= left else { throw .limit("elements") }
    left -= count
  }
}

/// The authors in a change set by index. Index 0 is the change set's own author. The others follow in the order of
/// their first use.
struct AuthorTable {
  private(set) var others: [Author] = []
  private let own: Author
  private var indexes: [Author: Int] = [:]

  init(_ own: Author, others: [Author] = []) {
    self.own = own
    self.others = others
    self.indexes = [own: 0]
  }

  mutating func add(_ author: Author) {
    // Most stamps are the author's own, and need no look-up.
    guard author != own, indexes[author] == nil else { return }
    others.append(author)
    indexes[author] = others.count
  }

  func index(of author: Author) -> Int { author == own ? 0 : indexes[author] ?? 0 }

  func author(_ index: Int) -> Author? {
    if index == 0 { return own }
    return others.indices.contains(index - 1) ? others[index - 1] : nil
  }
}

/// The bytes `offset ..< offset + bytes.count` of the unit's long value number `ordinal`.
package struct LongValuePiece: Hashable, Sendable {
  /// The number of the value in its unit, as `FieldValue.long` refers to it.
  package var ordinal: UInt64
  /// The position of the first byte of the piece in the value.
  package var offset: UInt64
  /// The bytes, at least one and at most `Limits.piece`.
  package var bytes: [UInt8]

  package init(ordinal: UInt64, offset: UInt64, bytes: [UInt8]) {
    self.ordinal = ordinal
    self.offset = offset
    self.bytes = bytes
  }

  func write(to writer: inout ByteWriter) {
    writer.varint(ordinal)
    writer.varint(offset)
    writer.sized(bytes)
  }

  init(from reader: inout ByteReader) throws(FormatError) {
    ordinal = try reader.varint()
    let offset = try reader.count(Limits.longValue, "long value")
    self.offset = UInt64(offset)
    bytes = try reader.sized(Limits.piece, "piece of a long value")
    guard !bytes.isEmpty else { throw .invalid("a piece is not empty") }
    guard offset + bytes.count <= Limits.longValue else { throw .limit("long value") }
  }
}
