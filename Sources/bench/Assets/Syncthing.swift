import Foundation

/// Two Syncthings that share a folder on loopback, with all outside communication turned off. They scan the folder when
/// they are told to, immediately. This is the best case of their own watching.
final class Syncthing {
  private let workshop: Workshop
  private let a: Instance
  private let b: Instance
  private let client: Program
  private static let key = "bench"
  private static let patience = 600.0

  struct Instance {
    let home: String
    let folder: String
    let device: String
    /// The ports of the REST interface and of the protocol.
    let ports: (rest: UInt16, sync: UInt16)
    var program: Program?
  }

  init(workshop: Workshop) throws {
    self.workshop = workshop
    var (a, b) = (try Self.create(workshop), try Self.create(workshop))
    for instance in [a, b] {
      try Self.configuration(of: instance, [a, b]).write(
        toFile: instance.home + "/config.xml", atomically: true, encoding: .utf8)
    }
    a.program = try Self.start(workshop, a.home)
    b.program = try Self.start(workshop, b.home)
    (self.a, self.b) = (a, b)
    client = try workshop.start(["python3", "-c", Self.restClient, Self.key])
    try waitUntilConnected()
  }

  func stop() {
    _ = client.finish()
    for program in [a.program, b.program] { program?.stop() }
    for instance in [a, b] { try? FileManager.default.removeItem(atPath: instance.home) }
  }

  var processes: [Int32] { [a.program, b.program].compactMap { $0?.id } }

  // MARK: Files

  /// Writes files into A's folder, or overwrites them, before a scan.
  func write(_ contents: [Int64: Content]) throws {
    for (key, content) in contents {
      let path = "\(a.folder)/\(key)"
      let file = open(path, O_WRONLY | O_CREAT, 0o600)
      guard file >= 0 else { throw Trouble("cannot write \(path)") }
      defer { close(file) }
      try content.forEachPiece { start, bytes in
        guard Glibc.write(file, bytes.baseAddress, bytes.count) == bytes.count else {
          throw Trouble("cannot write \(path)")
        }
      }
    }
  }

  /// Makes A scan its folder. Returns immediately.
  func scan() throws { try client.send("POST \(a.ports.rest) /rest/db/scan?folder=bench") }

  /// Waits until the number of files have arrived at B under their names.
  func waitForFiles(_ count: Int) throws {
    try wait("files do not arrive at Syncthing") {
      try FileManager.default.contentsOfDirectory(atPath: b.folder).count { !$0.hasPrefix(".") } == count
    }
    guard client.line() != nil else { throw Trouble("Syncthing does not scan") }
  }

  /// Waits until B's file is another one. The newer file replaces the old one at the end.
  func waitForNewFile(_ key: Int64, than old: UInt64?) throws {
    try wait("a change does not arrive at Syncthing") { number(key).map { $0 != old } ?? false }
    guard client.line() != nil else { throw Trouble("Syncthing does not scan") }
  }

  /// Returns the inode number of the file on B, or nil in the moment when there is none.
  func number(_ key: Int64) -> UInt64? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: "\(b.folder)/\(key)")
    return attributes?[.systemFileNumber] as? UInt64
  }

  /// Returns the bytes that A has sent to B.
  func sentBytes() throws -> Double {
    struct Connections: Decodable {
      struct Total: Decodable { let outBytesTotal: Double }
      let total: Total
    }
    let text = try ask("GET \(a.ports.rest) /rest/system/connections")
    return try JSONDecoder().decode(Connections.self, from: Data(text.utf8)).total.outBytesTotal
  }

  // MARK: Setting up

  private static func create(_ workshop: Workshop) throws -> Instance {
    let home = workshop.newPath("syncthing")
    let folder = home + "/folder"
    try FileManager.default.createDirectory(atPath: folder + "/.stfolder", withIntermediateDirectories: true)
    let arguments = ["syncthing", "generate", "--home", home, "--no-default-folder", "--skip-port-probing"]
    guard try workshop.start(arguments, environment: ["HOME": home]).finish().code == 0 else {
      throw Trouble("syncthing is not there: apt-get install syncthing, or --without-syncthing")
    }
    let asked = try workshop.start(["syncthing", "--device-id", "--home", home], environment: ["HOME": home])
    return Instance(
      home: home, folder: folder, device: asked.finish().last, ports: (try freePort(), try freePort()))
  }

  private static func start(_ workshop: Workshop, _ home: String) throws -> Program {
    try workshop.start(
      ["syncthing", "serve", "--home", home, "--no-browser", "--no-restart", "--no-upgrade", "--logfile=\(home)/log"],
      environment: ["HOME": home, "STNOUPGRADE": "1", "STMONITORED": "yes"], speaks: false)
  }

  /// Returns the configuration in the form of Debian's version, without the default values.
  private static func configuration(of instance: Instance, _ all: [Instance]) -> String {
    let devices = all.map {
      "<device id=\"\($0.device)\" compression=\"metadata\"><address>tcp://127.0.0.1:\($0.ports.sync)</address></device>"
    }
    return """
      <configuration version="36">
        <folder id="bench" path="\(instance.folder)" type="sendreceive" rescanIntervalS="0" fsWatcherEnabled="false">
          \(all.map { "<device id=\"\($0.device)\"></device>" }.joined())
          <minDiskFree unit="%">0</minDiskFree>
        </folder>
        \(devices.joined(separator: "\n  "))
        <gui enabled="true" tls="false"><address>127.0.0.1:\(instance.ports.rest)</address><apikey>\(key)</apikey></gui>
        <options>
          <listenAddress>tcp://127.0.0.1:\(instance.ports.sync)</listenAddress>
          <globalAnnounceEnabled>false</globalAnnounceEnabled>
          <localAnnounceEnabled>false</localAnnounceEnabled>
          <relaysEnabled>false</relaysEnabled>
          <natEnabled>false</natEnabled>
          <stunServer></stunServer>
          <urAccepted>-1</urAccepted>
          <crashReportingEnabled>false</crashReportingEnabled>
          <autoUpgradeIntervalH>0</autoUpgradeIntervalH>
          <reconnectionIntervalS>1</reconnectionIntervalS>
          <startBrowser>false</startBrowser>
          <setLowPriority>false</setLowPriority>
          <minHomeDiskFree unit="%">0</minHomeDiskFree>
        </options>
      </configuration>
      """
  }

  private static func freePort() throws -> UInt16 {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    guard let port = Echo.bind(listener) else { throw Trouble("no port is free on loopback") }
    return port
  }

  private func waitUntilConnected() throws {
    try wait("the two Syncthings do not meet") {
      try ask("GET \(a.ports.rest) /rest/system/connections").contains("\"connected\": true")
    }
  }

  private func ask(_ request: String) throws -> String {
    try client.send(request)
    guard let line = client.line() else { throw Trouble("Syncthing does not answer") }
    return line
  }

  private func wait(_ trouble: String, until isThere: () throws -> Bool) throws {
    let deadline = Machine.seconds() + Self.patience
    while try !isThere() {
      guard Machine.seconds() < deadline else { throw Trouble(trouble) }
      usleep(5_000)
    }
  }

  /// The client reads a request on each line, and prints an answer on each line, which is empty if there is none.
  private static let restClient = """
    import sys, urllib.request
    for line in sys.stdin:
        method, port, path = line.split()
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, headers={"X-API-Key": sys.argv[1]})
        try:
            print(urllib.request.urlopen(request, timeout=600).read().decode().replace("\\n", " "), flush=True)
        except OSError:
            print(flush=True)
    """
}
