public import MeshCore
import TOMLKit

/// What `config.toml` says. A person may edit the file, and SIGHUP has a daemon read it again; a joining node adds the peer's addresses.
public struct Configuration: Hashable, Sendable {
  /// Absolute path of the SQLite file.
  public var database: String
  /// Where peers are awaited.
  public var listen: HostPort
  /// The address that other devices are told to dial, where it is not the one listened on.
  public var advertise: HostPort?
  /// Addresses dialled from the start.
  public var peers: [HostPort]
  /// Of shares that end for this account the rows stay, as records of its own.
  public var keepsCopies: Bool
  /// Bytes of BLOBs that others overwrote which stay here to be restored.
  public var keptBlobs: Int

  /// All interfaces: a node exists to be reached, and a stranger gets no further than the handshake.
  public static let defaultListen = HostPort(host: "0.0.0.0", port: 7404)

  public init(
    database: String, listen: HostPort = defaultListen, advertise: HostPort? = nil, peers: [HostPort] = [],
    keepsCopies: Bool = false, keptBlobs: Int = Choices.keptBlobs
  ) {
    self.database = database
    self.listen = listen
    self.advertise = advertise
    self.peers = peers
    self.keepsCopies = keepsCopies
    self.keptBlobs = keptBlobs
  }

  /// Reads the file's text; `path` is what errors call it.
  /// - Throws: `HomeError` `.configuration`, naming the key and the line.
  public init(toml: String, path: String) throws(HomeError) {
    let source = ConfigurationSource(table: try Self.parse(toml, path), text: toml, path: path)
    try source.checkKeys()
    guard let database = try source.text("database") else {
      throw source.wrong("database", "is missing: it names the SQLite file to keep in step, from the root (/…)")
    }
    guard database.hasPrefix("/") else { throw source.wrong("database", "must be a path from the root (/…)") }
    self.init(
      database: database,
      listen: try source.address("listen") ?? Self.defaultListen,
      advertise: try source.address("advertise"),
      peers: try source.addresses("peers"),
      keepsCopies: try source.flag("keep-copies") ?? false,
      keptBlobs: try source.size("keep-blobs") ?? Choices.keptBlobs)
  }

  private static func parse(_ toml: String, _ path: String) throws(HomeError) -> TOMLTable {
    // The parser takes the end of a program for the answer to a header without a name.
    if let nameless = TOMLStatement.all(in: Array(toml.utf8)).first(where: \.key.isEmpty) {
      throw HomeError(.configuration, "\(path), line \(nameless.line): a key or a name is missing.")
    }
    do {
      return try TOMLTable(string: toml)
    } catch let error as TOMLParseError {
      throw HomeError(.configuration, "\(path), line \(error.source.begin.line): \(error.description)")
    } catch {
      throw HomeError(.configuration, "\(path) is not TOML.")
    }
  }

  /// The file as `mesh init` writes it.
  public var toml: String {
    var lines = [
      "# A mesh node. Read when the daemon starts.",
      "",
      "# The SQLite file to keep in step.",
      "database = \(Self.quoted(database))",
      "",
      "# Where this node awaits its peers (HOST:PORT).",
      "listen = \(Self.quoted(listen.description))",
      "",
      "# The address to tell other devices, where it is not the one above.",
      advertise.map { "advertise = \(Self.quoted($0.description))" } ?? "# advertise = \"host.example:7404\"",
      "",
      "# Addresses to dial. Joining adds to them.",
    ]
    lines.append("peers = [\(peers.map { Self.quoted($0.description) }.joined(separator: ", "))]")
    lines += [
      "", "# Whether the rows of shares that end for this account stay, as records of its own.",
      keepsCopies ? "keep-copies = true" : "# keep-copies = true",
      "",
      "# How many bytes of BLOBs that other devices overwrote or deleted stay here, for mesh restore. \"0\" keeps none.",
      keptBlobs == Choices.keptBlobs
        ? "# keep-blobs = \(Self.quoted(ByteSize.text(keptBlobs)))"
        : "keep-blobs = \(Self.quoted(ByteSize.text(keptBlobs)))",
    ]
    return lines.joined(separator: "\n") + "\n"
  }

  /// The same text with `peers` added to its list, those that it has already left out; all else stays as it was, byte
  /// for byte.
  public static func adding(_ peers: [HostPort], to toml: String, path: String) throws(HomeError) -> String {
    var wanted = try Configuration(toml: toml, path: path)
    var fresh: [HostPort] = []
    for peer in peers where !wanted.peers.contains(peer) && !fresh.contains(peer) { fresh.append(peer) }
    guard !fresh.isEmpty else { return toml }
    wanted.peers += fresh
    let result = insert(fresh.map { quoted($0.description) }.joined(separator: ", "), into: toml)
    guard try Configuration(toml: result, path: path) == wanted else {
      throw HomeError(
        .configuration,
        "\(path): the list of peers is written in a way that cannot be added to. Write it as peers = [\"HOST:PORT\"].")
    }
    return result
  }

  /// Behind the last element of the list, before its closing bracket; a file without a list gets one at its end.
  private static func insert(_ elements: String, into toml: String) -> String {
    var bytes = Array(toml.utf8)
    guard let end = TOMLStatement.all(in: bytes).first(where: { $0.key == "peers" })?.elementsEnd else {
      let lineBreak = bytes.isEmpty || bytes.last == UInt8(ascii: "\n") ? "" : "\n"
      return toml + "\(lineBreak)peers = [\(elements)]\n"
    }
    let lead =
      switch bytes[end - 1] {
      case UInt8(ascii: "["): ""
      case UInt8(ascii: ","): " "
      default: ", "
      }
    bytes.insert(contentsOf: Array("\(lead)\(elements)".utf8), at: end)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A TOML basic string.
  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case _ where scalar.value < 0x20 || scalar.value == 0x7f:
        let hex = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

extension Home {
  public func configuration() throws(HomeError) -> Configuration {
    try Configuration(toml: try configurationText(), path: path(of: .configuration))
  }

  /// Writes the file anew. To be done last when a home is made: it is what makes the home complete.
  public func write(_ configuration: Configuration) throws(HomeError) {
    try write(.configuration, Array(configuration.toml.utf8))
  }

  /// Remembers addresses to dial, leaving comments and everything else in the file as they are.
  public func addPeers(_ peers: [HostPort]) throws(HomeError) {
    let old = try configurationText()
    let new = try Configuration.adding(peers, to: old, path: path(of: .configuration))
    if new != old { try write(.configuration, Array(new.utf8)) }
  }

  private func configurationText() throws(HomeError) -> String {
    guard let text = String(validating: try read(.configuration), as: UTF8.self) else {
      throw HomeError(.configuration, "\(path(of: .configuration)) is not UTF-8.")
    }
    return text
  }
}
