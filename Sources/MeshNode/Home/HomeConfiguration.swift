import MeshCore
import TOMLKit

/// The contents of `config.toml`. You may edit the file, and SIGHUP makes a daemon read it again.
public struct HomeConfiguration: Hashable, Sendable {
  /// The absolute path of the SQLite file.
  public var database: String
  /// The address on which the node waits for peers.
  public var listen: HostPort
  /// The address that other devices are told to dial, if it differs from the one in `listen`.
  public var advertise: HostPort?
  /// Addresses that are dialled from the start.
  public var peers: [HostPort]
  /// True to keep the rows of shares that end for this account, as records of this account.
  public var keepsCopies: Bool
  /// The bytes of overwritten BLOBs that stay here so that they can be restored.
  public var keptBlobs: Int

  /// The bytes of overwritten BLOBs that a new home keeps.
  public static let defaultKeptBlobs = Choices.keptBlobs

  /// The default is all interfaces, because a node exists to be reached. A stranger gets no further than the handshake.
  public static let defaultListen = HostPort(host: "0.0.0.0", port: 7404)

  /// Creates a configuration. All settings but the database have the defaults of a new home.
  public init(
    database: String, listen: HostPort = defaultListen, advertise: HostPort? = nil, peers: [HostPort] = [],
    keepsCopies: Bool = false, keptBlobs: Int = defaultKeptBlobs
  ) {
    self.database = database
    self.listen = listen
    self.advertise = advertise
    self.peers = peers
    self.keepsCopies = keepsCopies
    self.keptBlobs = keptBlobs
  }

  /// Parses the file's text.
  ///
  /// - Parameters:
  ///   - toml: The text.
  ///   - path: The name of the file in errors.
  /// - Throws: A `HomeError` with code `.configuration` that names the key and the line.
  public init(toml: String, path: String) throws(HomeError) {
    let source = ConfigurationSource(table: try Self.parse(toml, path), text: toml, path: path)
    try source.checkKeys()
    guard let database = try source.text("database") else {
      throw source.wrong("database", "is missing: it names the SQLite file to synchronize, as an absolute path (/…)")
    }
    guard database.hasPrefix("/") else { throw source.wrong("database", "must be an absolute path (/…)") }
    self.init(
      database: database,
      listen: try source.address("listen") ?? Self.defaultListen,
      advertise: try source.address("advertise"),
      peers: try source.addresses("peers"),
      keepsCopies: try source.flag("keep-copies") ?? false,
      keptBlobs: try source.size("keep-blobs") ?? Self.defaultKeptBlobs)
  }

  private static func parse(_ toml: String, _ path: String) throws(HomeError) -> TOMLTable {
    // For a header without a name, the parser stops the program instead of throwing.
    if let nameless = TOMLStatement.all(in: Array(toml.utf8)).first(where: \.key.isEmpty) {
      throw HomeError(.configuration, "\(path), line \(nameless.line): a key or a name is missing.")
    }
    do {
      return try TOMLTable(string: toml)
    } catch let error as TOMLParseError {
      throw HomeError(
        .configuration,
        "\(path), line \(error.source.begin.line): \(error.description). A value is true, false, a number, a text in "
          + "double quotes, or a list of texts in brackets.")
    } catch {
      throw HomeError(.configuration, "\(path) is not TOML.")
    }
  }

  /// The text of the file as `mesh init` writes it.
  public var toml: String {
    var lines = [
      "# A mesh node. Read when the daemon starts.",
      "",
      "# The SQLite file to synchronize.",
      "database = \(Self.quoted(database))",
      "",
      "# The address where this node waits for other devices (HOST:PORT).",
      "listen = \(Self.quoted(listen.description))",
      "",
      "# The address to tell other devices, if it is not the one above.",
      advertise.map { "advertise = \(Self.quoted($0.description))" } ?? "# advertise = \"host.example:7404\"",
      "",
      "# Addresses to dial. Joining adds others, in peers.json.",
    ]
    lines.append("peers = [\(peers.map { Self.quoted($0.description) }.joined(separator: ", "))]")
    lines += [
      "", "# Whether the rows of shares that end for this account stay, as private records.",
      keepsCopies ? "keep-copies = true" : "# keep-copies = true",
      "",
      "# How many bytes of BLOBs that other devices overwrote or deleted stay here, for mesh restore. \"0\" keeps none.",
      keptBlobs == Self.defaultKeptBlobs
        ? "# keep-blobs = \(Self.quoted(ByteSize.text(keptBlobs)))"
        : "keep-blobs = \(Self.quoted(ByteSize.text(keptBlobs)))",
    ]
    return lines.joined(separator: "\n") + "\n"
  }

  /// Returns a TOML basic string.
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
  /// Reads `config.toml`. Throws a `HomeError`: `.fileMissing` if there is none, `.configuration` if it can't be
  /// understood.
  public func configuration() throws(HomeError) -> HomeConfiguration {
    try HomeConfiguration(toml: try configurationText(), path: path(of: .configuration))
  }

  /// Writes the whole file. This is the last step of creating a home, because the file makes the home complete.
  public func write(_ configuration: HomeConfiguration) throws(HomeError) {
    try write(.configuration, Array(configuration.toml.utf8))
  }

  private func configurationText() throws(HomeError) -> String {
    guard let text = String(validating: try read(.configuration), as: UTF8.self) else {
      throw HomeError(.configuration, "\(path(of: .configuration)) is not UTF-8.")
    }
    return text
  }
}
