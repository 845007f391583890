import Glibc
import Logging
import MeshControl
import MeshCore
import MeshCrypto
import MeshReplication
import MeshStore
import MeshTransport

/// Creates a node's keys, its database's tables and its home's files. It continues an interrupted attempt.
/// `config.toml` makes the home complete, and only the account's tables are adopted after it.
struct NodeCreation {
  let options: InitOptions
  let home: Home
  let network: LocalNetwork?
  let cryptography: Sodium
  let keys: DeviceKeys
  private let time: SystemTime
  private let created: Bool

  /// Prepares the creation.
  ///
  /// - Parameter account: The account of the invite, or nil for a new one.
  init(options: InitOptions, home: Home, joining account: AccountID?, network: LocalNetwork?) throws {
    self.options = options
    self.home = home
    self.network = network
    time = SystemTime(network)
    cryptography = try Sodium()
    created = access(options.database, F_OK) != 0
    try Self.refuseSecondName(of: options.database)
    // This check comes before any key is created, so an unusable database leaves only an empty home. A database that
    // another node works with is not touched.
    let lock = try created ? nil : DatabaseLock(database: options.database, home: home)
    defer { lock?.withdraw() }
    let store = try Store(path: options.database, cryptography: cryptography)
    let accounts = try store.control.accounts()
    try store.close()
    let isOwn = try account.map(accounts.contains) ?? home.exists(.accountState)
    guard accounts.isEmpty || isOwn else {
      throw Refusal.foreignDatabase(options.database, of: accounts, home, account)
    }
    if try home.exists(.deviceKey) {
      keys = try DeviceKeys(encoded: try home.read(.deviceKey))
    } else {
      keys = DeviceKeys(randomness: cryptography)
      try home.write(.deviceKey, keys.encoded)
      try HomeVault(home: home).settle()
    }
  }

  /// Refuses a file that has two names. SQLite keeps the log under the name by which a program opened the file, so two
  /// programs with different names damage it. Two nodes would both work with it.
  private static func refuseSecondName(of database: String) throws {
    guard let status = FileStatus(path: database), status.kind == .file, status.links > 1 else { return }
    throw Refusal(
      code: "database.hardLink",
      message:
        "\(printable(database)) has \(status.links) names (hard links). Programs that open it by different names damage it. "
        + "Give this node a copy of its own: sqlite3 \(printable(database)) \"VACUUM INTO 'COPY'\".")
  }

  private func request(_ account: AccountID) throws -> CertificateRequest {
    guard let request = CertificateRequest(name: options.deviceName, for: account, secrets: keys) else {
      throw ReplicaError.badDeviceKey
    }
    return request
  }

  private func configuration(peers: [HostPort] = []) -> HomeConfiguration {
    HomeConfiguration(
      database: options.database, listen: options.listen ?? HomeConfiguration.defaultListen, peers: peers)
  }

  private static let silent = Logger(label: "mesh") { _ in SwiftLogNoOpLogHandler() }

  // MARK: A new account

  func createAccount() async throws -> InitReport {
    if try !home.exists(.accountState) {
      let accountKey = try accountKey()
      let genesis = AccountGenesis(
        signingKey: accountKey.publicKey, recoveryKey: try recoveryKey().publicKey, salt: cryptography.bytes(16))
      guard let id = genesis.id(cryptography) else { throw ReplicaError.badDeviceKey }
      let account = try Administration.createAccount(
        genesis: genesis, request: try request(id), now: time.milliseconds(), sign: accountKey.sign,
        cryptography: cryptography, randomness: cryptography)
      try home.write(.accountState, account.encoded)
    }
    let node = try Node(home: home, configuration: configuration(), network: network, logger: Self.silent)
    try await node.withParts { parts in
      let replica = parts.database.replica
      try replica.administration.createPrivateZone(title: options.accountName, now: parts.time.now)
      try parts.accountFile.save(replica.account)
    }
    try home.write(configuration())
    return try await report(node, joined: false)
  }

  private func accountKey() throws -> AccountKey {
    if try home.exists(.accountKey) { return try AccountKey(encoded: try home.read(.accountKey)) }
    let key = AccountKey(randomness: cryptography)
    try home.write(.accountKey, key.encoded)
    return key
  }

  private func recoveryKey() throws -> RecoveryKey {
    if try home.exists(.recoveryKey) {
      return try RecoveryKey(text: String(decoding: try home.read(.recoveryKey), as: UTF8.self))
    }
    let key = RecoveryKey(randomness: cryptography)
    try home.write(.recoveryKey, Array(key.text.utf8))
    return key
  }

  // MARK: Joining

  func join(_ invite: DeviceInviteContent, progress: @escaping @Sendable (String) -> Void) async throws -> InitReport {
    guard invite.expires > time.milliseconds() else {
      throw Refusal(code: "link.expired", message: "the invite has expired. Make a new one with mesh device invite.")
    }
    let addresses = invite.addresses.compactMap { HostPort($0) }
    guard !addresses.isEmpty else {
      throw Refusal(
        code: "link.addresses",
        message: "the invite names no address to dial. Make a new one with mesh device invite on a running node.")
    }
    let transport = Transport(keys: keys, randomness: cryptography, clock: time, network: network)
    let address = try await firstAdmitting(addresses, invite, transport, progress)
    let remembered = [address] + addresses.filter { $0 != address }
    let node = try Node(
      home: home, configuration: configuration(peers: remembered), network: network, logger: Self.silent)
    progress("certified; fetching the account's zone from \(address)")
    try await catchUp(node, transport, address)
    try home.write(configuration(peers: remembered))
    let adopted = options.adoptSchema ? try await adopt(node) : nil
    return try await report(node, joined: true, adopted: adopted, peers: remembered)
  }

  /// Adopts the account's schema. The home is already complete, so a local table that doesn't fit can be changed and
  /// the schema adopted afterwards.
  private func adopt(_ node: Node) async throws -> SchemaReport {
    do {
      let report = try await node.perform(ApplySchemaRequest())
      _ = try await node.perform(WaitRequest(here: true))
      return report
    } catch let error as any Refusing {
      throw Refusal(
        code: error.refusal.code,
        message: error.refusal.message
          + "\nThis device has joined all the same. Change what is named, then: mesh schema --apply, and mesh serve.")
    }
  }

  /// Dials in turn until one node admits this device. If an earlier attempt was certified, the first node that answers
  /// is enough.
  private func firstAdmitting(
    _ addresses: [HostPort], _ invite: DeviceInviteContent, _ transport: Transport,
    _ progress: @Sendable (String) -> Void
  ) async throws -> HostPort {
    var reasons: [String] = []
    for address in addresses {
      progress("dialling \(address)")
      do {
        let connection = try await transport.dial(host: address.host, port: Int(address.port))
        let account = try await admission(connection, invite)
        try home.write(.accountState, account.encoded)
        return address
      } catch let error as TransportError {
        reasons.append(error.message)
      }
    }
    throw Refusal(
      code: "link.unreachable",
      message: "no address of the invite could be reached:\n  " + reasons.joined(separator: "\n  ")
        + "\nCheck that the daemon runs there and that the network lets this machine through.", exit: .noMember)
  }

  private func admission(_ connection: Link, _ invite: DeviceInviteContent) async throws -> AccountState {
    let info = LinkInfo(
      role: .dialler, handshakeHash: connection.handshakeHash, remoteStatic: connection.remoteStatic,
      address: connection.remoteAddress)
    var joining = Joining(
      invite: invite, request: try request(invite.account), info: info, secrets: keys, cryptography: cryptography)
    defer { connection.close() }
    func act(_ outputs: [Joining.Output]) throws -> AccountState? {
      for output in outputs {
        switch output {
        case .send(let message): connection.send(message.encoded)
        case .done(_, let account): return account
        case .refused(let reason): throw Refusal(code: "link.refused", message: "joining was refused: \(reason).")
        }
      }
      return nil
    }
    _ = try act(joining.start())
    for await bytes in connection.messages {
      guard let message = try Message.decode(bytes) else { continue }
      if let account = try act(joining.receive(message)) { return account }
    }
    throw TransportError(
      .peerClosed, connection.closeReason?.message ?? "the peer closed the connection before this device was certified")
  }

  /// Runs one session as a member, until the zone's log, its key and the account's schema are here.
  private func catchUp(_ node: Node, _ transport: Transport, _ address: HostPort) async throws {
    let connection = try await transport.dial(host: address.host, port: Int(address.port))
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await node.serve(connection, dialled: address) }
      group.addTask {
        let deadline = ContinuousClock.now + Self.catchUpLimit
        while await !node.withParts({ $0.database.replica.zoneViews.isReady }) {
          guard ContinuousClock.now < deadline, connection.closeReason == nil else {
            throw Refusal(
              code: "link.incomplete",
              message:
                "this device is certified, and the account's zone did not come from \(address) in time. Run the same command again."
            )
          }
          try await Task.sleep(for: .milliseconds(20))
        }
      }
      try await group.next()
      connection.close()
      try await group.waitForAll()
    }
  }

  private static let catchUpLimit = Duration.seconds(30)

  private func report(
    _ node: Node, joined: Bool, adopted: SchemaReport? = nil, peers: [HostPort] = []
  ) async throws -> InitReport {
    let account = try await node.perform(AccountRequest())
    let taken = Set(adopted?.missing.filter { $0.refusal == nil }.map(\.table) ?? [])
    let tables = try await node.perform(StatusRequest()).tables
    let missing = try await node.perform(SchemaRequest()).missing.map(\.table)
    let namesakes = await node.withParts { parts in
      Devices(parts.database.replica).namesakes(of: parts.database.replica.device)
    }
    await node.close()
    return InitReport(
      home: home.path, account: account.account, accountName: account.name, device: account.device,
      deviceName: account.deviceName, database: options.database, created: created, joined: joined,
      adopted: taken.sorted(), leftOut: adopted?.leftOut ?? [], tables: tables.filter { !taken.contains($0) },
      missing: missing, peers: peers.map(\.description), namesakes: namesakes.map(\.description))
  }
}
