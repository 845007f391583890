/// Two change sets of one author that both follow the same one. A writer that still has its own log never makes both.
/// The writer was copied, was restored from a backup, or lies.
package struct ForkProof: Hashable, Sendable {
  /// The change set with the lower id.
  package let first: SignedHeader
  /// The change set with the higher id.
  package let second: SignedHeader

  /// Creates a proof. Returns nil if the two are not the beginnings of two branches.
  package init?(_ one: SignedHeader, _ other: SignedHeader) {
    guard one.header.zone == other.header.zone, one.header.author == other.header.author,
      one.header.number == other.header.number, one.header.previous == other.header.previous, one.id != other.id
    else { return nil }
    (first, second) = one.id < other.id ? (one, other) : (other, one)
  }

  /// The zone of both change sets.
  package var zone: ZoneID { first.header.zone }
  /// The author of both change sets.
  package var author: Author { first.header.author }

  /// The author's cutoff: the last number at the end of a unit that both branches share.
  package var limit: UInt64 {
    let shared = first.header.number - 1
    return shared - min(shared, max(first.header.part.index, second.header.part.index))
  }

  /// Returns whether the author's device signed both.
  package func isSigned(_ cryptography: any Cryptography) -> Bool {
    first.isSigned(cryptography) && second.isSigned(cryptography)
  }

  func write(to writer: inout ByteWriter) {
    first.write(to: &writer)
    second.write(to: &writer)
  }

  init(from reader: inout ByteReader, _ cryptography: any Cryptography) throws(FormatError) {
    let first = try SignedHeader(from: &reader, cryptography)
    let second = try SignedHeader(from: &reader, cryptography)
    guard first.id < second.id, let proof = ForkProof(first, second) else {
      throw .invalid("two branches of one author, in ascending order")
    }
    self = proof
  }
}
