/// First change sets of authors of one account. Enough of them prove that a device or its account writes as more
/// authors than the protocol allows. Each change set is signed by its own device, so it doesn't matter who brings them.
package struct Excess: Hashable, Sendable {
  /// The change sets with number 1 of each author, ascending by author, all from one zone.
  package let beginnings: [SignedHeader]

  /// Creates a proof. Returns nil if there are no headers, too many for one record, headers of several zones, or a
  /// header that is not the first of its author.
  package init?(_ headers: some Sequence<SignedHeader>) {
    let sorted = headers.sorted { $0.header.author < $1.header.author }
    guard let zone = sorted.first?.header.zone, sorted.count <= Limits.beginnings,
      sorted.allSatisfy({ $0.header.zone == zone && $0.header.number == 1 }),
      zip(sorted, sorted.dropFirst()).allSatisfy({ $0.header.author < $1.header.author })
    else { return nil }
    beginnings = sorted
  }

  /// The zone of all headers.
  package var zone: ZoneID? { beginnings.first?.header.zone }
  /// The authors that wrote them, ascending.
  package var authors: [Author] { beginnings.map(\.header.author) }

  /// Returns whether each header is signed by its own author's device.
  package func isSigned(_ cryptography: any Cryptography) -> Bool {
    beginnings.allSatisfy { $0.isSigned(cryptography) }
  }

  func write(to writer: inout ByteWriter) {
    writer.list(beginnings) { $1.write(to: &$0) }
  }

  init(from reader: inout ByteReader, _ cryptography: any Cryptography) throws(FormatError) {
    let headers = try reader.list(Limits.beginnings, "beginnings") { (reader: inout ByteReader) throws(FormatError) in
      try SignedHeader(from: &reader, cryptography)
    }
    guard let excess = Excess(headers), excess.beginnings == headers else {
      throw .invalid("first change sets of one zone, ascending by author")
    }
    self = excess
  }
}

/// The devices and accounts that are proven to write as too many authors in a zone, or to fork at too many points. All
/// their change sets are cut at zero on every device. The order in which authors arrive differs between devices, but the
/// proof is the same for all.
struct Overfull: Sendable, Equatable {
  private(set) var devices: Set<DeviceID> = []
  private(set) var accounts: Set<AccountID> = []

  init() {}

  /// - Parameters:
  ///   - acts: The proofs. It doesn't matter who brought them, because each author's own device signed.
  ///   - forks: The number of points at which each author is proven to fork.
  ///   - owner: The owner of the zone. The number of its authors and forks has no bound.
  init(
    _ acts: some Sequence<Excess>, forks: [Author: Int], owner: AccountID, account: (DeviceID) -> AccountID?
  ) {
    let authors = Set(acts.flatMap(\.authors))
    for (device, authors) in Dictionary(grouping: authors, by: \.device) where authors.count > Limits.instances {
      devices.insert(device)
    }
    for (account, authors) in Dictionary(grouping: authors, by: { account($0.device) }) {
      guard let account, account != owner, authors.count > Limits.authorsOfAccount else { continue }
      accounts.insert(account)
    }
    for (account, forks) in Dictionary(grouping: forks, by: { account($0.key.device) }) {
      guard let account, account != owner, forks.reduce(0, { $0 + $1.value }) > Limits.forksOfAccount else { continue }
      accounts.insert(account)
    }
  }
}
