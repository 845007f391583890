import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// A few replicas on model stores, with connections that deliver immediately and lose nothing.
final class TestMesh {
  final class Node {
    let keys: DeviceKeys
    let device: DeviceID
    let store: ModelStore
    let vault: MemoryVault
    let replica: Replica
    let index: Int
    /// The reasons that its sessions closed.
    var closed: [String] = []
    /// The messages that it sent, by session.
    var sent: [LinkID: [Message]] = [:]

    let account: TestAccount
    private let stream: UInt64

    /// Creates a node.
    ///
    /// - Parameters:
    ///   - state: The account's state that the home has, or nil for the account's first one.
    ///   - life: The number of the node's start. Another one gives other random numbers.
    init(
      _ account: TestAccount, _ index: Int, state: AccountState? = nil, store: ModelStore, vault: MemoryVault,
      life: UInt64 = 0, stream: UInt64, cryptography: Sodium
    ) throws {
      (self.account, self.index, self.stream) = (account, index, stream)
      keys = account.devices[index]
      device = try account.device(index)
      (self.store, self.vault) = (store, vault)
      let key = account.key
      let signer = index == 0 ? AccountSigner(publicKey: key.publicKey) { key.sign($0) } : nil
      replica = try Replica(
        store: store, vault: vault, account: state ?? account.state, secrets: keys, accountSigner: signer,
        cryptography: cryptography, randomness: SeededRandomness(seed: 9 + life, stream: stream))
    }

    func again(store: ModelStore?, vault: MemoryVault?, life: UInt64, cryptography: Sodium) throws -> Node {
      try Node(
        account, index, state: replica.account, store: store ?? self.store, vault: vault ?? self.vault, life: life,
        stream: stream, cryptography: cryptography)
    }
  }

  let accounts: [TestAccount]
  /// The first account, which is the only one in most tests.
  var account: TestAccount { accounts[0] }
  let cryptography: Sodium
  private(set) var nodes: [Node] = []
  private var peers: [LinkID: (node: Int, link: LinkID)] = [:]
  private var owners: [LinkID: Int] = [:]
  private var links: UInt64 = 0
  private var lives: UInt64 = 0
  private let randomness = SeededRandomness(seed: 8)
  private(set) var now = Moment(wall: VirtualClock.epoch, steady: 0)
  /// The milliseconds by which a node's wall clock is ahead.
  var clockError: [Int: Int64] = [:]

  /// Creates nodes of one account. The first node has created the zone.
  convenience init(_ count: Int, partSize: Int = Choices.slice) throws { try self.init([count], partSize: partSize) }

  /// Creates several accounts with the given numbers of devices. The nodes are numbered consecutively. The first node
  /// of each account has created its zone.
  init(_ devices: [Int], partSize: Int = Choices.slice) throws {
    accounts = try devices.indices.map { try TestAccount(devices: devices[$0], seed: 5 + 100 * UInt64($0)) }
    cryptography = try Sodium(randomness: SeededRandomness(seed: 6))
    for account in accounts {
      let first = nodes.count
      for index in account.devices.indices {
        nodes.append(
          try Node(
            account, index, store: ModelStore(cryptography, partSize: partSize), vault: MemoryVault(),
            stream: UInt64(nodes.count), cryptography: cryptography))
      }
      try nodes[first].replica.administration.createPrivateZone(title: "private", now: now)
    }
  }

  func now(_ node: Int) -> Moment { Moment(wall: now.wall + (clockError[node] ?? 0), steady: now.steady) }

  /// Adds a node with the same keys and a copy of another's file. Its home is a copy that doesn't notice this unless
  /// told.
  @discardableResult
  func addCopy(of index: Int, isNoticed: Bool = false) throws -> Int {
    let original = nodes[index]
    let vault = original.vault.copy()
    vault.isFromElsewhere = isNoticed
    nodes.append(
      try original.again(
        store: original.store.copy(), vault: vault, life: UInt64(nodes.count), cryptography: cryptography))
    return nodes.count - 1
  }

  /// Stops a node, gives it a file and a home, and starts it.
  func restart(_ index: Int, store: ModelStore? = nil, vault: MemoryVault? = nil) throws {
    for link in owners.keys.sorted() where owners[link] == index { disconnect(link) }
    lives += 1
    nodes[index] = try nodes[index].again(store: store, vault: vault, life: 100 + lives, cryptography: cryptography)
  }

  /// Closes a session. Both ends notice immediately.
  func disconnect(_ link: LinkID) {
    guard let peer = peers.removeValue(forKey: link), let owner = owners[link] else { return }
    peers[peer.link] = nil
    nodes[owner].replica.linkClosed(link, now: now(owner))
    nodes[peer.node].replica.linkClosed(peer.link, now: now(peer.node))
  }

  /// Ends the sessions between two nodes.
  func part(_ a: Int, _ b: Int) {
    for (link, peer) in peers.sorted(by: { $0.key < $1.key }) where peer.node == a && owners[link] == b {
      disconnect(link)
    }
  }

  /// Runs a session between two nodes until neither has anything to do.
  func meet(_ a: Int, _ b: Int) throws {
    let (link, _) = try connect(a, b)
    try pump()
    disconnect(link)
  }

  var zone: ZoneID { get throws { try #require(nodes[0].replica.privateZone) } }

  func info(_ role: SessionBinding.Role, peer: [UInt8], hash: [UInt8]) -> LinkInfo {
    LinkInfo(role: role, handshakeHash: hash, remoteStatic: peer, address: "test")
  }

  private func nextLink() -> LinkID {
    links += 1
    return LinkID(links)
  }

  /// Connects two nodes. The first one dials. Nothing is delivered before `pump`.
  @discardableResult
  func connect(_ a: Int, _ b: Int) throws -> (LinkID, LinkID) {
    let hash = randomness.bytes(64)
    let (dialler, listener) = (nextLink(), nextLink())
    peers[dialler] = (b, listener)
    peers[listener] = (a, dialler)
    owners[dialler] = a
    owners[listener] = b
    try nodes[b].replica.linkOpened(listener, info(.listener, peer: nodes[a].keys.sessionKey, hash: hash), now: now(b))
    try nodes[a].replica.linkOpened(dialler, info(.dialler, peer: nodes[b].keys.sessionKey, hash: hash), now: now(a))
    return (dialler, listener)
  }

  /// Opens a connection from outside to a node. The test holds its other end.
  func open(_ node: Int, role: SessionBinding.Role = .listener, peer: [UInt8]) throws -> (LinkID, LinkInfo) {
    let link = nextLink()
    let info = info(role, peer: peer, hash: randomness.bytes(64))
    owners[link] = node
    try nodes[node].replica.linkOpened(link, info, now: now(node))
    return (link, info)
  }

  func give(_ message: Message, to node: Int, _ link: LinkID) throws {
    try give(message.encoded, to: node, link)
  }

  func give(_ bytes: [UInt8], to node: Int, _ link: LinkID) throws {
    try nodes[node].replica.received(link, bytes, now: now(node))
    try pump()
  }

  /// Lets time pass.
  ///
  /// - Parameter jump: The milliseconds by which the wall clock jumps in addition.
  func wait(_ milliseconds: Int64, jump: Int64 = 0) throws {
    now = Moment(wall: now.wall + milliseconds + jump, steady: now.steady + milliseconds)
    for (index, node) in nodes.enumerated() { try node.replica.tick(now: now(index)) }
    try pump()
  }

  func write(_ node: Int, _ key: String, _ title: String) throws {
    nodes[node].store.write(RecordName(table: "list", key: .text(key)), ["title": .text(title)])
    nodes[node].replica.databaseChanged()
    try pump()
  }

  func title(_ node: Int, _ key: String) -> Value? {
    nodes[node].store.rows[RecordName(table: "list", key: .text(key))]?["title"]
  }

  /// Delivers and works until nothing is left to do.
  ///
  /// - Parameter look: Is called after each step.
  func pump(_ look: () -> Void = {}) throws {
    var isBusy = true
    while isBusy {
      isBusy = false
      for (index, node) in nodes.enumerated() {
        while try node.replica.work(now: now(index)) {
          isBusy = true
          look()
        }
        for action in node.replica.takeActions() {
          isBusy = true
          try perform(action, of: index)
          look()
        }
      }
    }
  }

  private func perform(_ action: ReplicaAction, of index: Int) throws {
    switch action {
    case .send(let link, let bytes):
      if let message = try Message.decode(bytes) { nodes[index].sent[link, default: []].append(message) }
      if let peer = peers[link] { try nodes[peer.node].replica.received(peer.link, bytes, now: now(peer.node)) }
    case .close(let link, let end):
      nodes[index].closed.append(end.text)
      guard let peer = peers.removeValue(forKey: link) else { return }
      peers[peer.link] = nil
      nodes[peer.node].replica.linkClosed(peer.link, now: now(peer.node))
    case .log: break
    }
  }

  func isOpen(_ node: Int, _ link: LinkID) -> Bool {
    nodes[node].replica.peerViews.all.contains { $0.link == link }
  }

  /// Returns the goodbye that a node last said in a session.
  func goodbye(_ node: Int, _ link: LinkID) -> Message.Goodbye? {
    for case .goodbye(let code, _) in nodes[node].sent[link] ?? [] { return code }
    return nil
  }

  // MARK: A peer that the test plays

  /// Returns a hello of a device, signed for a session that its keys opened as the dialler.
  func hello(_ keys: DeviceKeys, _ certificate: Certificate?, _ info: LinkInfo, to node: Int) -> Hello {
    var hello = Hello(certificate: certificate, accountHead: nodes[node].replica.account.head(cryptography))
    hello.sign(
      keys,
      SessionBinding(
        signer: info.role.other, handshakeHash: info.handshakeHash, peerStatic: nodes[node].keys.sessionKey))
    return hello
  }

  /// Opens a session of a member device whose messages all come from the test.
  func admit(_ index: Int, of account: TestAccount? = nil, to node: Int) throws -> LinkID {
    let account = account ?? self.account
    let keys = account.devices[index]
    let (link, info) = try open(node, peer: keys.sessionKey)
    let certificate = account.state.certificates[try account.device(index)]
    try give(.hello(hello(keys, certificate, info, to: node)), to: node, link)
    try give(.zones([]), to: node, link)
    return link
  }
}
