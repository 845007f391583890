import MeshCore

/// Exchanges descriptions of tables with peers: all tables with this account's own devices, and with others the tables
/// that the common shares can contain.
final class SchemaExchange: Part {
  let context: Context
  /// True if a member has sent its tables since the start.
  private(set) var hasForeignSchema = false

  init(_ context: Context) { self.context = context }

  /// Sends the schema.
  func send(_ link: LinkID) throws {
    guard let peer = sessions[link]?.peer else { return }
    let tables = concerning(peer.account, try store.schema.schemaDescriptions())
    let ruled = ruled(tables, by: account.id, with: peer.account)
    let rules = Self.fitting(ruled)
    if !rules.isEmpty { sessions.send(link, .schemaRules(rules)) }
    let policies = Self.fitting(ruled.map { NamedPolicies(table: $0.name, policies: $0.policies) })
    if !policies.isEmpty { sessions.send(link, .columnPolicies(policies)) }
    try sendOwnerPolicies(link)
    let formerNames = Self.fitting(ruled.map { NamedFormerNames(table: $0.name, names: $0.formerNames) })
    if !formerNames.isEmpty { sessions.send(link, .formerNames(formerNames)) }
    sessions.send(link, .schema(tables))
  }

  /// Tells another device of this account what owners of shares have set.
  func sendOwnerPolicies(_ link: LinkID) throws {
    guard sessions[link]?.peer?.account == account.id else { return }
    for (owner, policies) in try store.schema.ownerPolicies().sorted(by: { $0.key < $1.key }) {
      sessions.send(link, .ownerPolicies(owner, Self.fitting(policies)))
    }
  }

  func sendAll(besides source: LinkID? = nil) throws {
    for link in sessions.openLinks where link != source { try send(link) }
  }

  // MARK: Learning

  /// Keeps expressions of tables until the description of the tables arrives.
  func learn(_ link: LinkID, _ tables: [NamedRules]) {
    guard let account = sessions[link]?.peer?.account, mayRule(account) else { return }
    sessions[link]?.schema.note(tables)
  }

  /// Keeps policies of columns until the description of the tables arrives.
  func learn(_ link: LinkID, _ tables: [NamedPolicies]) {
    guard let account = sessions[link]?.peer?.account, mayRule(account) else { return }
    sessions[link]?.schema.note(tables)
  }

  /// Keeps former names of tables and columns until the description of the tables arrives.
  func learn(_ link: LinkID, _ tables: [NamedFormerNames]) {
    guard let account = sessions[link]?.peer?.account, mayRule(account) else { return }
    sessions[link]?.schema.note(tables)
  }

  func learn(_ link: LinkID, _ tables: [SchemaDescription], now: Moment) throws {
    guard let session = sessions[link], let peer = session.peer else { return }
    let isOwn = peer.account == account.id
    let before =
      session.schema.policies.isEmpty ? nil : (own: try ownPolicies(), owners: try store.schema.ownerPolicies())
    let isPrivate = try store.schema.saveForeignSchema(
      try believed(of: peer.account, withRules(link, tables, now: now)), device: peer.device, isOwn: isOwn)
    for table in isPrivate {
      outbox.log(
        .warning,
        "the table \(printable(table)) is private on \(printable(peer.request.name)), and so it is here from now on; to share "
          + "it, untrack it on every device of the account, and track it again")
    }
    hasForeignSchema = true
    // A device that isn't connected to the one that set a policy gets it from this one.
    guard let before else { return }
    if isOwn {
      if try ownPolicies() != before.own { try sendAll(besides: link) }
    } else {
      try passOn(unless: before.owners, besides: link)
    }
  }

  /// Handles the policies of a share's owner that another device of this account has met. Such a device may set policies
  /// of this account, which come before the owner's, so it gains nothing by inventing them. An account that owns no
  /// share here has no policies.
  func learn(_ link: LinkID, _ policies: [NamedPolicies], of owner: AccountID, now: Moment) throws {
    guard sessions[link]?.peer?.account == account.id, owner != account.id, mayRule(owner) else { return }
    let known = try store.schema.ownerPolicies()
    let timely = policies.map { table in
      NamedPolicies(table: table.table, policies: table.policies.filter { isTimely($0, now: now) })
    }
    try store.schema.saveOwnerPolicies(timely, of: owner)
    try passOn(unless: known, besides: link)
  }

  /// Tells the other devices of this account what an owner has set, unless these policies were known before.
  private func passOn(unless known: [AccountID: [NamedPolicies]], besides link: LinkID) throws {
    guard try store.schema.ownerPolicies() != known else { return }
    for other in sessions.openLinks where other != link { try sendOwnerPolicies(other) }
  }

  /// Returns whether a policy can be replaced. Nobody could set another one after one of the end of time.
  private func isTimely(_ setting: ColumnPolicySetting, now: Moment) -> Bool {
    setting.time <= now.wall.saturatingAdding(Choices.clockBound)
  }

  /// Returns the policies that this account set.
  private func ownPolicies() throws -> [NamedPolicies] {
    try store.schema.schemaDescriptions().map { NamedPolicies(table: $0.name, policies: $0.policies) }
  }

  /// Returns the tables of a message with the rules and policies that arrived before it, if the peer may tell them and
  /// they fit.
  private func withRules(_ link: LinkID, _ tables: [SchemaDescription], now: Moment) -> [SchemaDescription] {
    guard let session = sessions[link], let peer = session.peer else { return tables }
    sessions[link]?.schema.clear()
    let ruled = Set(ruled(tables, by: peer.account, with: peer.account).map(\.name.folded))
    return tables.map { table in
      guard ruled.contains(table.name.folded) else { return table }
      var policed = table
      let names = Set(table.columns.map(\.name.folded))
      policed.policies = (session.schema.policies[table.name.folded] ?? []).filter {
        names.contains($0.column.folded) && isTimely($0, now: now)
      }
      policed.formerNames = session.schema.formerNames[table.name.folded] ?? FormerNames()
      var described = policed
      described.rules = session.schema.rules[table.name.folded]
      return (try? described.check()) == nil ? policed : described
    }
  }

  // MARK: Which tables

  /// Returns the tables whose expressions a peer and this account exchange. Devices of one account exchange all. For a
  /// share, its owner tells them.
  private func ruled(
    _ tables: [SchemaDescription], by author: AccountID, with peer: AccountID
  ) -> [SchemaDescription] {
    guard peer != account.id else { return tables }
    let owned = zones.values.filter { $0.state.owner == author && isCommon($0, peer) }
    return tables.shared(from: owned.compactMap(\.state.root?.table))
  }

  private func isCommon(_ zone: Zone, _ other: AccountID) -> Bool { zones.isCommon(zone.state.zone, account.id, other) }

  /// Returns whether the account's statements about expressions of tables can count.
  private func mayRule(_ other: AccountID) -> Bool {
    other == account.id || zones.values.contains { $0.state.owner == other && isCommon($0, other) }
  }

  /// Returns the rules of the tables, as many as one message carries.
  private static func fitting(_ tables: [SchemaDescription]) -> [NamedRules] {
    var room = Limits.message / 2
    return tables.compactMap { table in
      guard let rules = table.rules else { return nil }
      room -= Limits.name + rules.encoded.count
      return room < 0 ? nil : NamedRules(table: table.name, rules: rules)
    }
  }

  /// Returns the policies of the tables' columns, as many as one message carries.
  private static func fitting(_ tables: [NamedPolicies]) -> [NamedPolicies] {
    var room = Limits.message / 2
    return tables.compactMap { table in
      let policies = Array(table.policies.prefix(ColumnPolicySetting.limit))
      guard !policies.isEmpty else { return nil }
      room -= policies.reduce(Limits.name) { $0 + $1.column.utf8.count + 16 }
      return room < 0 ? nil : NamedPolicies(table: table.table, policies: policies)
    }
  }

  /// Returns the former names of the tables, as many as one message carries.
  private static func fitting(_ tables: [NamedFormerNames]) -> [NamedFormerNames] {
    var room = Limits.message / 2
    return tables.compactMap { table in
      let names = FormerNames(
        tables: Array(table.names.tables.prefix(FormerNames.tableLimit)),
        columns: Array(table.names.columns.prefix(FormerNames.columnLimit)))
      guard !names.isEmpty else { return nil }
      room -= (1 + names.tables.count + 2 * names.columns.count) * Limits.name
      return room < 0 ? nil : NamedFormerNames(table: table.table, names: names)
    }
  }

  /// Returns the tables about which this account and another exchange descriptions.
  private func concerning(_ other: AccountID, _ tables: [SchemaDescription]) -> [SchemaDescription] {
    guard other != account.id else { return tables }
    return tables.shared(from: zones.values.filter { isCommon($0, other) }.compactMap(\.state.root?.table))
  }

  /// Returns the descriptions of another account that count. For a table that is synchronized here, they count only if
  /// the table belongs to a common share according to this file. According to the other account's description, any
  /// table could belong to one.
  private func believed(of other: AccountID, _ tables: [SchemaDescription]) throws -> [SchemaDescription] {
    let theirs = concerning(other, tables)
    guard other != account.id else { return theirs }
    let own = try store.schema.schemaDescriptions()
    let shared = Set(concerning(other, own).map(\.name.folded))
    let here = Set(own.map(\.name.folded))
    return theirs.filter { !here.contains($0.name.folded) || shared.contains($0.name.folded) }
  }
}

/// The expressions, policies and former names of the tables in the peer's next description, by the tables' names.
struct SchemaProgress {
  private(set) var rules: [FoldedName: SchemaRules] = [:]
  private(set) var policies: [FoldedName: [ColumnPolicySetting]] = [:]
  private(set) var formerNames: [FoldedName: FormerNames] = [:]

  mutating func note(_ tables: [NamedRules]) {
    rules = Dictionary(tables.map { ($0.table.folded, $0.rules) }, uniquingKeysWith: { first, _ in first })
  }

  mutating func note(_ tables: [NamedPolicies]) {
    policies = Dictionary(tables.map { ($0.table.folded, $0.policies) }, uniquingKeysWith: { first, _ in first })
  }

  mutating func note(_ tables: [NamedFormerNames]) {
    formerNames = Dictionary(tables.map { ($0.table.folded, $0.names) }, uniquingKeysWith: { first, _ in first })
  }

  mutating func clear() { (rules, policies, formerNames) = ([:], [:], [:]) }
}
