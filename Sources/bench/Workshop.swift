import Foundation

/// A temporary directory with the processes that were started in it. Closing it removes all of them.
final class Workshop {
  let directory: String
  let mesh: String
  private var programs: [Program] = []
  private var files = 0

  init(mesh: String) throws {
    guard FileManager.default.isExecutableFile(atPath: mesh) else {
      throw Trouble("\(mesh) is not there; build it with: swift build -c release --product mesh")
    }
    self.mesh = mesh
    directory = NSTemporaryDirectory() + "mesh-bench-\(UInt32.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    Interruption.note(directory: directory)
  }

  func close() {
    for program in programs { program.stop() }
    try? FileManager.default.removeItem(atPath: directory)
  }

  /// Returns an unused path.
  func newPath(_ name: String) -> String {
    files += 1
    return "\(directory)/\(files)-\(name)"
  }

  func start(_ arguments: [String], environment: [String: String] = [:], speaks: Bool = true) throws -> Program {
    let program = try Program(arguments, environment: environment, errors: newPath("errors"), speaks: speaks)
    programs.append(program)
    return program
  }

  /// Starts this program itself in another role.
  func startSelf(_ arguments: String...) throws -> Program {
    try start([Machine.siblingProgram("bench")] + arguments)
  }

  /// Runs a command of `mesh`, and returns the last line that it prints.
  @discardableResult
  func verb(_ home: String, _ arguments: String...) throws -> String {
    let (last, code) = try start([mesh] + arguments, environment: ["MESH_HOME": home]).finish()
    guard code == 0 else { throw Trouble("mesh \(arguments.joined(separator: " ")) exited with \(code)") }
    return last
  }

  /// Returns the whole output of a command.
  func output(_ home: String, _ arguments: String...) throws -> String {
    let program = try start([mesh] + arguments, environment: ["MESH_HOME": home])
    var text = ""
    while let line = program.line() { text += line + "\n" }
    return text
  }

  /// Returns an empty database with the table of `Items`.
  func plainDatabase() throws -> Database {
    let database = try Database(newPath("plain.db"))
    try database.run(Items.schema)
    return database
  }

  /// Returns the same database with capture, without a daemon.
  func capturedDatabase() throws -> BenchNode {
    let node = BenchNode(workshop: self, home: newPath("home"), path: newPath("data.db"))
    let database = try Database(node.path)
    try database.run(Items.schema)
    try verb(node.home, "init", "--database", node.path, "--account", "bench", "--device", "a")
    try verb(node.home, "track", "items")
    return node
  }

  /// Returns two connected daemons of one account. The second one has the first one's table.
  func pair() throws -> Pair {
    let a = try capturedDatabase()
    try a.serve()
    let pair = Pair(a: a, b: try join(a, "b"))
    try pair.wait()
    return pair
  }

  /// Returns the running daemon of a new device that has joined a node's account.
  ///
  /// - Parameter peers: The addresses that it dials besides the node's.
  func join(_ a: BenchNode, _ device: String, peers: [String] = []) throws -> BenchNode {
    let invite = try verb(a.home, "device", "invite")
    let node = BenchNode(workshop: self, home: newPath("home"), path: newPath("data.db"))
    try verb(node.home, "init", "--database", node.path, "--device", device, "--link", invite, "--adopt-schema")
    try node.serve(peers: peers)
    return node
  }
}

/// A home with its database.
final class BenchNode {
  private unowned let workshop: Workshop
  let home: String
  let path: String
  private(set) var daemon: Program?
  /// The exit code of commands that need a daemon and find none.
  private static let notAccepting: Int32 = 3

  init(workshop: Workshop, home: String, path: String) {
    self.workshop = workshop
    self.home = home
    self.path = path
  }

  func open() throws -> Database { try Database(path) }

  func start(peers: [String] = []) throws {
    daemon = try workshop.start(
      [workshop.mesh, "serve", "--listen", "127.0.0.1:0"] + peers.flatMap { ["--peer", $0] },
      environment: ["MESH_HOME": home])
  }

  /// Starts the daemon, and returns when it accepts commands.
  func serve(peers: [String] = []) throws {
    try start(peers: peers)
    let deadline = Machine.seconds() + 30
    while true {
      let (_, code) = try workshop.start([workshop.mesh, "peers"], environment: ["MESH_HOME": home]).finish()
      if code != Self.notAccepting { return }
      guard Machine.seconds() < deadline else { throw Trouble("mesh serve does not accept") }
      usleep(50_000)
    }
  }

  /// Waits until nothing is pending and every connected member has everything.
  func wait() throws { try workshop.verb(home, "wait", "--timeout", "10m") }

  func stop() { daemon?.stop() }

  /// The part of its state that is needed here.
  struct Status: Decodable {
    struct Peer: Decodable { let connected: Bool }
    let listen: String?
    let peers: [Peer]
  }

  func status() throws -> Status {
    try JSONDecoder().decode(Status.self, from: Data(try workshop.output(home, "status", "--json").utf8))
  }

  /// Returns the seconds of processor time that the daemon has used.
  func processorTime() throws -> Double { try daemon.map { try Machine.processorTime($0.id) } ?? 0 }

  /// Frees the disk after the node was stopped.
  func remove() {
    for path in [home, path, path + "-wal", path + "-shm"] { try? FileManager.default.removeItem(atPath: path) }
  }
}

struct Pair {
  let a: BenchNode
  let b: BenchNode

  /// Waits until they are connected and equal.
  func wait() throws {
    let deadline = Machine.seconds() + 60
    while true {
      do { return try a.wait() } catch { guard Machine.seconds() < deadline else { throw error } }
      usleep(100_000)
    }
  }

  func stop() {
    a.stop()
    b.stop()
  }
}
