import MeshCore

/// Assembles values that travelled in pieces before the part that refers to them. It is used inside one access, by one
/// caller.
final class LongValues {
  private let transaction: Transaction
  private let zone: Int64
  private let author: Int64
  private let reader: ChangeSetReader
  /// The numbers from the unit's first part to the part that refers to the value.
  private let numbers: Range<UInt64>
  /// The value that was assembled last. Rows that have the same value follow each other.
  private var last: (ordinal: UInt64, value: [UInt8])?
  /// Values that were put together before, by ordinal.
  private let ready: [UInt64: [UInt8]]

  init(
    transaction: Transaction, zone: Int64, author: Int64, reader: ChangeSetReader, numbers: Range<UInt64>,
    ready: [UInt64: [UInt8]] = [:]
  ) {
    self.ready = ready
    self.transaction = transaction
    self.zone = zone
    self.author = author
    self.reader = reader
    self.numbers = numbers
  }

  func value(of field: FieldValue) throws -> Value {
    switch field {
    case .value(let inline): inline
    case .long(let ordinal, let size, let isText): try value(ordinal, size: size, isText: isText)
    case .asset(let manifest):
      .asset(
        transaction.catalog.isWritable
          ? try transaction.contents.remember(manifest) : try manifest.asset(transaction.cryptography))
    }
  }

  private func value(_ ordinal: UInt64, size: Int, isText: Bool) throws -> Value {
    let bytes = try bytes(ordinal, size: size)
    guard bytes.count == size else { throw MalformedChangeSet(reason: "pieces of a long value are missing") }
    return isText ? .text(bytes) : .blob(bytes)
  }

  func bytes(_ ordinal: UInt64, size: Int) throws -> [UInt8] {
    if let value = ready[ordinal], value.count == size { return value }
    if let last, last.ordinal == ordinal, last.value.count == size { return last.value }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(min(size, Limits.longValue))
    let unit = PieceIndex.Unit(zone: zone, author: author, first: numbers.lowerBound)
    for number in try transaction.pieces.pieces(
      ordinal, of: unit, below: numbers.upperBound, transaction.sql, read: piece)
    {
      guard let piece = try piece(number) else { continue }
      guard piece.offset == UInt64(bytes.count), bytes.count + piece.bytes.count <= size else {
        throw MalformedChangeSet(reason: "the pieces of a long value do not follow each other")
      }
      bytes += piece.bytes
    }
    last = (ordinal, bytes)
    return bytes
  }

  private func piece(_ number: UInt64) throws -> LongValuePiece? {
    guard let bytes = try transaction.log.bytes(number, of: author, in: zone) else { return nil }
    let changeSet = try ChangeSet(bytes, with: reader.cryptography)
    guard let key = reader.keys[changeSet.header.epoch] else { throw MissingKey(epoch: changeSet.header.epoch) }
    guard let plain = changeSet.body(key: key, with: reader.cryptography),
      case .piece(let piece) = try ChangeSetBody(plain, author: changeSet.header.author).content
    else { return nil }
    return piece
  }
}
