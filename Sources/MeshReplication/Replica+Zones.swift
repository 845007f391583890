import MeshCore

/// Decides which zones are in common with a peer. All accounts that a zone lists get its log. Only members get its
/// change sets and keys.
extension Replica {
  func mayHaveLog(_ account: AccountID, _ zone: ZoneID) -> Bool {
    zones[zone]?.state.accounts.contains(account) ?? false
  }

  /// Returns whether this account and the other are both members.
  private func isCommon(_ zone: ZoneID, with account: AccountID) -> Bool {
    guard let state = zones[zone]?.state else { return false }
    return state.permission(self.account.id) != nil && state.permission(account) != nil
  }

  /// Compares the peer's tags with the zones here, to learn which of them it knows. Devices of one account tell each
  /// other about zones. Devices of other accounts learn about them by joining.
  func meetZones(_ link: LinkID, _ tags: [[UInt8]], now: Moment) throws {
    guard let info = sessions[link]?.info, let peer = sessions[link]?.peer else { return }
    let theirs = Set(tags)
    for zone in zones.keys.sorted() where mayHaveLog(peer.account, zone) {
      let tag = zoneTag(zone, sender: info.role.other, handshakeHash: info.handshakeHash, cryptography)
      let isKnown = theirs.contains(tag)
      if isKnown, isCommon(zone, with: peer.account) {
        send(link, .controlHeads(zone, zones[zone]?.state.heads ?? []))
      } else if isKnown || peer.account == account.id {
        try giveControlRecords(link, zone, beyond: [], now: now)
      }
      try share(zone, link, now: now)
    }
    endUnlessMember(link)
  }

  func share(_ zone: ZoneID, _ link: LinkID, now: Moment) throws {
    guard let session = sessions[link], session.conversation.isOpen, let peer = session.peer,
      isCommon(zone, with: peer.account), !session.conversation.commonZones.contains(zone)
    else { return }
    // The receiver takes what it is told of a share only after it knows the share.
    if peer.account == account.id { try sendOwnerPolicies(link) } else { try sendSchema(link) }
    let stored = try store.storedVector(zone)
    let merged = try store.mergedVector(zone)
    try handle(link, .share(zone, stored: stored), now: now)
    needsAssets = true
    fetching.forgetAside()
    try sendHeads([link], zone)
    send(link, certificate == nil ? .have(zone, merged) : .acknowledgement(acknowledgement(zone, merged, now: now)))
    zones[zone]?.toldBacklog = nil
    // The peer was asked for keys before the zone was in common, and did not give them.
    sessions[link]?.keyRequests = KeyRequests()
    requestKeys(link)
  }

  /// Sends the schema: all tables to this account's own devices, and to others the tables that the common shares can
  /// contain.
  func sendSchema(_ link: LinkID) throws {
    guard let peer = sessions[link]?.peer else { return }
    let tables = concerning(peer.account, try store.schemaDescriptions())
    let ruled = ruled(tables, by: account.id, with: peer.account)
    let rules = Self.fitting(ruled)
    if !rules.isEmpty { send(link, .schemaRules(rules)) }
    let policies = Self.fitting(ruled.map { NamedPolicies(table: $0.name, policies: $0.policies) })
    if !policies.isEmpty { send(link, .columnPolicies(policies)) }
    try sendOwnerPolicies(link)
    send(link, .schema(tables))
  }

  /// Tells another device of this account what owners of shares have set.
  private func sendOwnerPolicies(_ link: LinkID) throws {
    guard sessions[link]?.peer?.account == account.id else { return }
    for (owner, policies) in try store.ownerPolicies().sorted(by: { $0.key < $1.key }) {
      send(link, .ownerPolicies(owner, Self.fitting(policies)))
    }
  }

  /// Handles the policies of a share's owner that another device of this account has met. Such a device may set policies
  /// of this account, which come before the owner's, so it gains nothing by inventing them. An account that owns no
  /// share here has no policies.
  func learn(_ policies: [NamedPolicies], of owner: AccountID, _ link: LinkID, now: Moment) throws {
    guard sessions[link]?.peer?.account == account.id, owner != account.id, mayRule(owner) else { return }
    let known = try store.ownerPolicies()
    let timely = policies.map { table in
      NamedPolicies(table: table.table, policies: table.policies.filter { isTimely($0, now: now) })
    }
    try store.saveOwnerPolicies(timely, of: owner)
    try passOn(unless: known, besides: link)
  }

  /// Tells the other devices of this account what an owner has set, unless these policies were known before.
  func passOn(unless known: [AccountID: [NamedPolicies]], besides link: LinkID) throws {
    guard try store.ownerPolicies() != known else { return }
    for other in openLinks where other != link {
      try sendOwnerPolicies(other)
    }
  }

  /// Returns whether a policy can be replaced. Nobody could set another one after one of the end of time.
  private func isTimely(_ setting: ColumnPolicySetting, now: Moment) -> Bool {
    setting.time <= now.wall.saturatingAdding(Choices.clockBound)
  }

  /// The sessions whose devices are told of a changed schema, in order.
  var openLinks: [LinkID] { sessions.keys.sorted().filter { sessions[$0]?.conversation.isOpen == true } }

  /// Returns the policies that this account set.
  func ownPolicies() throws -> [NamedPolicies] {
    try store.schemaDescriptions().map { NamedPolicies(table: $0.name, policies: $0.policies) }
  }

  /// Returns the tables whose expressions a peer and this account exchange. Devices of one account exchange all. For a
  /// share, its owner tells them.
  private func ruled(
    _ tables: [SchemaDescription], by author: AccountID, with peer: AccountID
  ) -> [SchemaDescription] {
    guard peer != account.id else { return tables }
    let owned = zones.values.filter { $0.state.owner == author && isCommon($0.state.zone, with: peer) }
    return tables.shared(from: owned.compactMap(\.state.root?.table))
  }

  /// Returns whether the account's statements about expressions of tables can count.
  func mayRule(_ other: AccountID) -> Bool {
    other == account.id || zones.values.contains { $0.state.owner == other && isCommon($0.state.zone, with: other) }
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

  /// Returns the tables of a message with the rules and policies that arrived before it, if the peer may tell them and
  /// they fit.
  func withRules(_ link: LinkID, _ tables: [SchemaDescription], now: Moment) -> [SchemaDescription] {
    guard let session = sessions[link], let peer = session.peer else { return tables }
    sessions[link]?.rules = [:]
    sessions[link]?.policies = [:]
    let ruled = Set(ruled(tables, by: peer.account, with: peer.account).map(\.name.folded))
    return tables.map { table in
      guard ruled.contains(table.name.folded) else { return table }
      var policed = table
      let names = Set(table.columns.map(\.name.folded))
      policed.policies = (session.policies[table.name.folded] ?? []).filter {
        names.contains($0.column.folded) && isTimely($0, now: now)
      }
      var described = policed
      described.rules = session.rules[table.name.folded]
      return (try? described.check()) == nil ? policed : described
    }
  }

  /// Returns the tables about which this account and another exchange descriptions.
  func concerning(_ other: AccountID, _ tables: [SchemaDescription]) -> [SchemaDescription] {
    guard other != account.id else { return tables }
    let common = zones.values.filter { isCommon($0.state.zone, with: other) }
    return tables.shared(from: common.compactMap(\.state.root?.table))
  }

  /// Returns the descriptions of another account that count. For a table that is synchronized here, they count only if
  /// the table belongs to a common share according to this file. According to the other account's description, any
  /// table could belong to one.
  func believed(of other: AccountID, _ tables: [SchemaDescription]) throws -> [SchemaDescription] {
    let theirs = concerning(other, tables)
    guard other != account.id else { return theirs }
    let own = try store.schemaDescriptions()
    let shared = Set(concerning(other, own).map(\.name.folded))
    let here = Set(own.map(\.name.folded))
    return theirs.filter { !here.contains($0.name.folded) || shared.contains($0.name.folded) }
  }

  /// Offers a zone to the open sessions, after a new zone or a new member appeared.
  func offer(_ id: ZoneID, now: Moment) throws {
    try tellThoseOut(id, now: now)
    for link in sessions.keys.sorted() {
      guard let session = sessions[link], session.conversation.isOpen, let peer = session.peer,
        isCommon(id, with: peer.account), !session.conversation.commonZones.contains(id)
      else { continue }
      for other in zones[id]?.people.all ?? [] where other != peer.account { sendAccount(other, link) }
      if peer.account == account.id {
        try giveControlRecords(link, id, beyond: [], now: now)
      } else {
        send(link, .controlHeads(id, zones[id]?.state.heads ?? []))
      }
      try share(id, link, now: now)
    }
  }

  /// Sends the log to accounts that were admitted and removed by records that arrived together. They have only heard of
  /// the admission.
  private func tellThoseOut(_ id: ZoneID, now: Moment) throws {
    for (link, session) in sessions.sorted(by: { $0.key < $1.key }) {
      guard session.conversation.isOpen, let peer = session.peer, peer.account != account.id,
        mayHaveLog(peer.account, id), !isCommon(id, with: peer.account),
        zones[id]?.state.permission(peer.account) == nil, sessions[link]?.told.insert(id).inserted == true
      else { continue }
      probe?(.admittedAndRemovedTogether)
      try giveControlRecords(link, id, beyond: [], now: now)
    }
  }

  func meetControlHeads(_ link: LinkID, _ id: ZoneID, _ heads: [ControlID], now: Moment) throws {
    guard let peer = sessions[link]?.peer, mayHaveLog(peer.account, id) else { return }
    try giveControlRecords(link, id, beyond: heads, now: now)
    // A peer that believes it is removed has not said which records it has. It may be a member again.
    if !isCommon(id, with: peer.account), heads.contains(where: { zones[id]?.log.contains($0) != true }) {
      tellControlHeads(link, id, now: now)
    }
    try share(id, link, now: now)
  }

  /// Ends the exchange of a zone that is no longer in common, after the peers were sent the records that say why.
  func leaveThoseOut(_ id: ZoneID, now: Moment) throws {
    for link in sessions.keys.sorted() {
      guard let session = sessions[link], session.conversation.commonZones.contains(id), let peer = session.peer,
        !isCommon(id, with: peer.account)
      else { continue }
      try handle(link, .unshare(id), now: now)
      endUnlessMember(link)
    }
  }

  /// Ends the session of an account that is no longer a member of any common zone, and gives the reason.
  private func endUnlessMember(_ link: LinkID) {
    guard let session = sessions[link], let peer = session.peer, peer.account != account.id,
      session.conversation.commonZones.isEmpty, session.outflow.records.isEmpty, session.outflow.asked.isEmpty
    else { return }
    let reasons = zones.values.sorted { $0.state.zone < $1.state.zone }.compactMap { zone in
      zone.state.permission(peer.account) == nil ? zone.state.reasonOutside(peer.account) : nil
    }
    if !reasons.isEmpty { end(link, .noMember, reasons.joined(separator: "; ")) }
  }

  /// The milliseconds that a peer of another account may stay without a common zone.
  private static let outsiderPatience: Int64 = 10_000

  /// Ends sessions of accounts without a common zone, with the reason, after a while. Sessions are for members, and for
  /// a short time for former members.
  func endOutsiders(now: Moment) {
    for (link, session) in sessions.sorted(by: { $0.key < $1.key }) where session.conversation.isOpen {
      guard let peer = session.peer, peer.account != account.id, session.conversation.commonZones.isEmpty else {
        sessions[link]?.outsideSince = nil
        continue
      }
      let since = session.outsideSince ?? now.steady
      sessions[link]?.outsideSince = since
      if now.steady.saturatingSubtracting(since) > Self.outsiderPatience { endUnlessMember(link) }
    }
  }

  // MARK: Standings

  /// Tells the store the standing of each zone on this device, if it has changed.
  func updateStandings() throws {
    let now = zones.values.compactMap { standing($0.state) }.sorted { $0.zone < $1.zone }
    guard now != standings else { return }
    let mayKeep = keepsCopies || keepsRows != nil
    let ended = try mayKeep ? store.endedZones() : []
    try store.setStandings(now)
    // The copy is kept before the pending writes to the share are handled.
    if mayKeep {
      for standing in now where standing.role == .ended && !ended.contains(standing.zone) {
        if keepsCopies || isKeptWhenEnded(standing.zone) { try store.keepCopy(of: standing.zone) }
      }
    }
    standings = now
    // An account that was admitted again has the rows again.
    dropped.formIntersection(now.filter { $0.role == .ended }.map(\.zone))
  }

  /// Returns whether a share's rows stay after it ended. The user isn't asked about a share that this account leaves,
  /// because the choice was already made.
  private func isKeptWhenEnded(_ zone: ZoneID) -> Bool {
    guard let state = zones[zone]?.state, state.participants[account.id]?.status != .left else { return false }
    return keepsRows?(zone) ?? false
  }

  private func standing(_ state: ZoneState) -> ZoneStanding? {
    guard let owner = state.owner else { return nil }
    func standing(_ role: ZoneStanding.Role) -> ZoneStanding {
      ZoneStanding(
        zone: state.zone, role: role, root: state.root, owner: owner == account.id ? nil : owner,
        isStopped: role == .owned && state.isStopped)
    }
    if owner == account.id { return standing(state.root == nil ? .privateZone : .owned) }
    // Until its old rows are gone, the share has ended, even if the account was admitted again.
    return switch dropping.contains(state.zone) ? nil : state.permission(account.id) {
    // If this device can no longer write, programs are told immediately.
    case .readWrite: standing(zones[state.zone]?.isBarred == true ? .readOnly : .readWrite)
    case .readOnly: standing(.readOnly)
    case nil: standing(.ended)
    }
  }
}

extension ZoneState {
  /// Returns the reason that an account listed by the zone is not a member, in words for people. It is nil if the
  /// account is a member or never was one.
  func reasonOutside(_ account: AccountID) -> String? {
    let name = "“\(printable(title))”"
    switch participants[account]?.status {
    case .removed: return "the owner removed the account from \(name)"
    case .left: return "the account has left \(name)"
    case .member: return isStopped ? "the owner has stopped sharing \(name)" : nil
    case nil: return nil
    }
  }
}
