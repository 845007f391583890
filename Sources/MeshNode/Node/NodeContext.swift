import Logging
import MeshControl
import MeshCore
import MeshReplication
import MeshStore
import MeshTransport

/// The parts of a node. Each is the only one that writes its state, and calls only the parts that it was created with.
struct NodeContext {
  let home: Home
  /// The app in this process, or nil in `mesh serve` and in a command.
  let app: NodeApp?
  let time: SystemTime
  let logger: Logger
  let transport: Transport
  let settings: Settings
  let accountFile: AccountStateFile
  let database: NodeDatabase
  let addresses: AddressBook
  let connections: Connections
  let driver: ReplicaDriver
  /// Shares that had already ended for this account when the node was opened.
  let endedBefore: Set<ZoneID>

  /// Opens the home's keys and database.
  ///
  /// - Parameter lockPatience: The seconds that each step waits for another program's lock, or nil for the usual time.
  init(
    home: Home, configuration: HomeConfiguration, network: LocalNetwork?, app: NodeApp?, lockPatience: Double?,
    logger: Logger
  ) throws {
    (self.home, self.app, self.logger) = (home, app, logger)
    time = SystemTime(network)
    settings = Settings(configuration)
    let keys = try NodeKeys(home)
    accountFile = try AccountStateFile(home, keys.cryptography)
    let known = try home.knownPeers()
    database = try NodeDatabase(
      home: home, keys: keys, account: accountFile.saved, settings: settings, app: app, time: time,
      lockPatience: lockPatience, logger: logger)
    addresses = AddressBook(home: home, known: known, settings: settings, time: time, logger: logger)
    connections = Connections(addresses)
    driver = ReplicaDriver(database, accountFile, addresses, connections, time, logger)
    let replica = database.replica
    endedBefore = Set(replica.zoneIDs.filter { replica.reasonOutside($0) != nil })
    transport = Transport(
      keys: keys.device, randomness: keys.cryptography, clock: time, network: network, logger: logger)
  }
}

/// A value that answers requests from the state of a node's parts. It has no state of its own.
protocol NodePart {
  var context: NodeContext { get }
}

extension NodePart {
  var home: Home { context.home }
  var time: SystemTime { context.time }
  var configuration: HomeConfiguration { context.settings.configuration }
  var database: NodeDatabase { context.database }
  var store: Store { context.database.store }
  var replica: Replica { context.database.replica }
  var addresses: AddressBook { context.addresses }
  var driver: ReplicaDriver { context.driver }

  var devices: Devices { Devices(replica) }
  var lock: WriteLock { WriteLock(store) }
  /// True in a daemon, which dials, listens and works by itself.
  var isRunning: Bool { addresses.listening != nil }
  /// The time between two looks at what a request waits for.
  static var look: Duration { .milliseconds(20) }

  /// Flushes and merges what programs have committed, so that a request about records sees the rows as they are.
  /// A daemon does the same by itself soon. If this fails or takes long, the request works with what is merged.
  ///
  /// - Throws: A `Refusal` if the database can't be used any more.
  nonisolated(nonsending) func takeInWrites() async throws {
    if isRunning {
      _ = try? await driver.workOff(until: .now + .seconds(1))
    } else {
      _ = try? await driver.workAlone(until: .now + .controlTimeout)
    }
    if let suspension = database.suspension { throw suspension }
  }
}
