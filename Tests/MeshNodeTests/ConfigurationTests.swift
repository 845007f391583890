import MeshNode
import Testing

@Suite struct ConfigurationTests {
  private let path = "/home/config.toml"
  private let peer = HostPort(host: "10.0.0.2", port: 7404)

  private func message(_ toml: String) -> String? {
    do {
      _ = try HomeConfiguration(toml: toml, path: path)
      return nil
    } catch {
      #expect(error.code == .configuration)
      return error.message
    }
  }

  @Test("a configuration that is written as TOML is read back unchanged") func whatIsWrittenIsReadAgain() throws {
    let all = HomeConfiguration(
      database: "/data/od\"d\\ \u{7}né.db", listen: HostPort(host: "::1", port: 0),
      advertise: HostPort(host: "host.example", port: 7404), peers: [peer, HostPort(host: "b", port: 1)])
    #expect(try HomeConfiguration(toml: all.toml, path: path) == all)
    let least = HomeConfiguration(database: "/n.db")
    #expect(try HomeConfiguration(toml: least.toml, path: path) == least)
    #expect(try HomeConfiguration(toml: "database = '/n.db'", path: path) == least)
    let sized = HomeConfiguration(database: "/n.db", keptBlobs: 1536 << 20)
    #expect(sized.toml.contains("keep-blobs = \"1536MiB\""))
    #expect(try HomeConfiguration(toml: sized.toml, path: path) == sized)
  }

  @Test(
    "sizes have units",
    arguments: [
      ("0", 0), ("7", 7), ("0B", 0), ("512 MiB", 512 << 20), ("1GiB", 1 << 30), ("3TiB", 3 << 40), ("20KiB", 20 << 10),
    ])
  func sizes(text: String, bytes: Int) throws {
    #expect(try HomeConfiguration(toml: "database = '/n'\nkeep-blobs = '\(text)'", path: path).keptBlobs == bytes)
  }

  @Test(
    "an error about a configuration names the line and the key",
    arguments: [
      ("database = '/n'\n\n# a comment\nlisten_on = 'x'\n", "line 4: “listen_on” is not a key"),
      ("database = '/n'\n'Peers' = []\n", "line 2: “Peers” is not a key"),
      ("database = '/n'\n[peers2]\nlisten = 'a:1'\n", "line 2: “peers2” is not a key"),
      ("database = \"\"\"\n/n\"\"\"\nx.listen = 'a:1'\n", "line 3: “x” is not a key"),
      ("listen = 'a:1'\n", "“database” is missing"),
      ("database = 'notes.db'\n", "line 1: “database” must be an absolute path"),
      ("database = 7\n", "line 1: “database” must be a text"),
      ("database = '/n'\nlisten = '1.2.3.4'\n", "line 2: “listen” has “1.2.3.4”, which is not HOST:PORT"),
      ("database = '/n'\npeers = 'a:1'\n", "line 2: “peers” must be a list"),
      ("database = '/n'\npeers = ['a:1',\n 'b']\n", "line 2: “peers” has “b”, which is not HOST:PORT"),
      ("database = '/n'\nkeep-blobs = 5\n", "line 2: “keep-blobs” must be a text"),
      ("database = '/n'\nkeep-blobs = '1GB'\n", "line 2: “keep-blobs” must be a number of bytes with a unit"),
      ("database = '/n'\nkeep-blobs = '-1GiB'\n", "line 2: “keep-blobs” must be a number of bytes"),
      ("database = '/n'\nkeep-blobs = '9000000000TiB'\n", "line 2: “keep-blobs” must be a number of bytes"),
      ("database = '/n'\nkeep-blobs = ''\n", "line 2: “keep-blobs” must be a number of bytes"),
      ("database = '/n'\n\npeers = [\n", "/home/config.toml, line "),
      ("database = '/n'\n[[[\n", "line 2: a key or a name is missing"),
    ])
  func whatIsWrongIsNamedWithItsLine(toml: String, part: String) throws {
    #expect(try #require(self.message(toml)).contains(part))
  }

  @Test(
    "an address is read and written as the same text",
    arguments: ["a:1", "10.0.0.1:65535", "[::1]:0", "[2001:db8::1]:7404", "host.example:80"])
  func anAddressIsReadAndWritten(text: String) {
    #expect(HostPort(text)?.description == text)
  }

  @Test(
    "a text that is not an address is rejected",
    arguments: [
      "", ":1", "a", "a:", "a:65536", "a:-1", "::1:80", "[::1]", "[a]:1", "a b:1", "a:1:2", "a:+1", "é:1", "[::1:2",
    ])
  func whatIsNoAddressIsRefused(text: String) {
    #expect(HostPort(text) == nil)
  }
}
