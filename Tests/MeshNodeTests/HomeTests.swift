import Foundation
import Testing

@testable import MeshNode

@Suite struct HomeTests {
  @Test("an empty path is refused with the name of what it should lead to") func anEmptyPath() throws {
    let error = #expect(throws: HomeError.self) { try Home.absolute("", of: "database") }
    #expect(error?.message == "the path of the database is empty.")
  }

  private func code(_ body: () throws -> Void) -> HomeError.Code? {
    do {
      try body()
      return nil
    } catch {
      return (error as? HomeError)?.code
    }
  }

  @Test("a new home is private and keeps the files that are written to it")
  func aNewHomeIsPrivateAndKeepsWhatIsWritten() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/state/mesh/")
      #expect(home.path == "\(root)/state/mesh")
      try home.write(.deviceKey, [1, 2, 3])
      try home.write(.zone(id: "zone-abc"), [4])
      try home.write(.accountState, [5], mode: 0o644)
      try home.write(HomeConfiguration(database: "/data/notes.db"))
      #expect(try mode(of: home.path) == 0o700)
      #expect(try mode(of: home.path(of: .deviceKey)) == 0o600)
      #expect(try mode(of: home.path(of: .zone(id: "zone-abc"))) == 0o600)
      let opened = try Home.open(at: home.path)
      #expect(try opened.read(.deviceKey) == [1, 2, 3])
      #expect(try opened.zones() == ["zone-abc"])
      #expect(try opened.configuration().database == "/data/notes.db")
      try opened.write(.deviceKey, [9])
      #expect(try opened.read(.deviceKey) == [9])
      #expect(try FileManager.default.contentsOfDirectory(atPath: home.path).allSatisfy { !$0.hasSuffix(".new") })
    }
  }

  @Test("removing a home's files leaves what else is in its directory")
  func removeFiles() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let staged = "staging/\(String(repeating: "0a", count: 32))"
      try FileManager.default.createDirectory(atPath: "\(home.path)/staging", withIntermediateDirectories: false)
      for name in ["app.db", "zones/notes", "staging/photo", staged] {
        try Data([1]).write(to: URL(filePath: "\(home.path)/\(name)"))
      }
      for file in HomeFile.others + [.zone(id: "zone-abc")] { try home.write(file, [1]) }
      try home.write(HomeConfiguration(database: "\(home.path)/app.db"))
      try home.removeFiles()
      let left = try #require(FileManager.default.enumerator(atPath: home.path)).compactMap { $0 as? String }
      #expect(left.sorted() == ["app.db", "staging", "staging/photo", "zones", "zones/notes"])
      for name in ["app.db", "zones/notes", "staging/photo"] {
        try FileManager.default.removeItem(atPath: "\(home.path)/\(name)")
      }
      try home.removeFiles()
      #expect(!FileManager.default.fileExists(atPath: home.path))
    }
  }

  @Test("a home whose removal was interrupted doesn't look like one that has begun to join an account")
  func interruptedRemoval() async throws {
    try await withTemporaryDirectory { root in
      for count in 0...HomeFile.others.count {
        let home = try Home.create(at: "\(root)/\(count)")
        for file in HomeFile.others.dropFirst(count) { try home.write(file, [1]) }
        #expect(try !home.exists(.accountState) || home.exists(.accountKey), "after \(count) files")
      }
      let home = try Home.create(at: "\(root)/locked")
      let lock = try home.lock(as: .verb)
      try home.removeFiles(keepingLock: true)
      #expect(code { _ = try home.lock(as: .verb) } == .locked)
      lock.release()
    }
  }

  @Test("a home opens once it is configured, and can't be created again then")
  func aHomeIsCompleteOnceItIsConfigured() async throws {
    try await withTemporaryDirectory { root in
      let path = "\(root)/home"
      #expect(code { _ = try Home.open(at: path) } == .missing)
      let home = try Home.create(at: path)
      try home.write(.deviceKey, [1])
      #expect(code { _ = try Home.open(at: path) } == .unfinished)
      #expect(code { _ = try Home.create(at: path) } == nil)
      try home.write(HomeConfiguration(database: "/x.db"))
      #expect(code { _ = try Home.open(at: path) } == nil)
      #expect(code { _ = try Home.create(at: path) } == .exists)
      try home.write(.accountKey, [1])
      let error = #expect(throws: HomeError.self) { try Home.create(at: path) }
      let message = try #require(error).message
      #expect(message.contains("the account's key") && message.contains("don't remove it"))
    }
  }

  @Test(
    "a home that other users can enter is rejected with the chmod that repairs it", arguments: [0o750, 0o705, 0o777])
  func aHomeThatOthersCanEnterIsRefusedWithItsMending(mode: Int) async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      try home.write(HomeConfiguration(database: "/x.db"))
      try setMode(mode, of: home.path)
      let error = #expect(throws: HomeError.self) { try Home.open(at: home.path) }
      #expect(error?.code == .permissions)
      #expect(error?.message.hasSuffix("chmod 700 \(home.path)") == true)
    }
  }

  @Test(
    "a key that other users can read is rejected with the chmod that repairs it",
    arguments: [HomeFile.deviceKey, .accountKey, .recoveryKey, .zone(id: "zone-1")])
  func aKeyThatOthersCanReadIsRefusedWithItsMending(file: HomeFile) async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      try home.write(file, [1])
      try home.write(HomeConfiguration(database: "/x.db"))
      try setMode(0o640, of: home.path(of: file))
      for attempt in [{ _ = try Home.open(at: home.path) }, { _ = try home.read(file) }] {
        let error = #expect(throws: HomeError.self) { try attempt() }
        #expect(error?.code == .permissions)
        #expect(error?.message.hasSuffix("chmod 600 \(home.path(of: file))") == true)
      }
    }
  }

  @Test("a home rejects symbolic links in place of itself and its files") func symbolicLinksAreRefused() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      try home.write(HomeConfiguration(database: "/x.db"))
      try FileManager.default.createSymbolicLink(atPath: "\(root)/link", withDestinationPath: home.path)
      #expect(code { _ = try Home.open(at: "\(root)/link") } == .symlink)
      try FileManager.default.createSymbolicLink(
        atPath: home.path(of: .accountState), withDestinationPath: home.path(of: .configuration))
      #expect(code { _ = try home.read(.accountState) } == .symlink)
      #expect(code { try home.write(.accountState, [1]) } == .symlink)
      try FileManager.default.createSymbolicLink(atPath: home.path(of: .deviceKey), withDestinationPath: "/dev/null")
      #expect(code { _ = try Home.open(at: home.path) } == .symlink)
    }
  }

  @Test(
    "a home rejects a zone file whose name is not an id",
    arguments: ["", "../device.key", "a/b", "Zone", "zone.1", String(repeating: "z", count: 129)])
  func aZoneFileIsNamedByAnId(id: String) async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      #expect(code { try home.write(.zone(id: id), [1]) } == .name)
      #expect(code { _ = try home.read(.zone(id: id)) } == .name)
    }
  }

  @Test("reading a missing file reports it, and removing it succeeds")
  func aFileThatIsNotThereIsSaidToBeMissing() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      #expect(code { _ = try home.read(.highWater) } == .fileMissing)
      #expect(try !home.exists(.highWater))
      #expect(code { try home.remove(.highWater) } == nil)
    }
  }

  @Test("a home with a path too long for its socket is rejected and not created")
  func aPathTooLongForTheSocketIsRefusedBeforeAnythingIsMade() async throws {
    try await withTemporaryDirectory { root in
      let path = "\(root)/" + String(repeating: "h", count: 100)
      #expect(code { _ = try Home.create(at: path) } == .name)
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test("the error about a locked home names the holder, and a release frees the lock")
  func theLockNamesItsHolderAndIsGivenBack() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let lock = try home.lock(as: .daemon)
      let error = #expect(throws: HomeError.self) { try home.lock(as: .verb) }
      #expect(error?.code == .locked)
      #expect(error?.holder == HomeLock.Holder(pid: getpid(), purpose: .daemon))
      #expect(error?.message.contains("\(getpid())") == true)
      lock.release()
      try home.lock(as: .verb).release()
    }
  }

  @Test("a daemon waits for a command's lock and not for another daemon's")
  func aDaemonWaitsForAVerbAndNotForADaemon() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let verb = try home.lock(as: .verb)
      await #expect(throws: HomeError.self) { try await home.lock(as: .daemon, patience: .zero) }
      var holder: HomeLock.Holder?
      let daemon = try await home.lock(as: .daemon, patience: nil) {
        holder = $0
        verb.release()
      }
      #expect(holder == HomeLock.Holder(pid: getpid(), purpose: .verb))
      await #expect(throws: HomeError.self) { try await home.lock(as: .daemon, patience: .seconds(3_600)) }
      daemon.release()
    }
  }

  @Test("discarding removes a home without a key and keeps one with a key")
  func aHomeWithoutAKeyIsDiscardedAndAnotherStays() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let lock = try home.lock(as: .verb)
      try home.discard()
      #expect(!FileManager.default.fileExists(atPath: home.path))
      lock.release()

      try Home.create(at: home.path).write(.deviceKey, [1])
      try home.discard()
      #expect(try home.exists(.deviceKey))
    }
  }

  @Test("the home's path comes from the option, MESH_HOME, XDG_STATE_HOME or HOME, in this order")
  func theHomeIsFoundInItsOrder() throws {
    let all = ["MESH_HOME": "/m", "XDG_STATE_HOME": "/x", "HOME": "/h"]
    #expect(try Home.path(option: "/o/./a//", environment: all) == "/o/a")
    #expect(try Home.path(option: nil, environment: all) == "/m")
    #expect(try Home.path(option: nil, environment: ["MESH_HOME": "", "XDG_STATE_HOME": "/x"]) == "/x/mesh")
    #expect(try Home.path(option: nil, environment: ["XDG_STATE_HOME": "x", "HOME": "/h"]) == "/h/.local/state/mesh")
    #expect(code { _ = try Home.path(option: nil, environment: [:]) } == .name)
  }

  @Test("a home whose files got the inode numbers of the ones before is known as a copy")
  func copiedInPlace() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      try home.write(.deviceKey, [1, 2, 3])
      let vault = HomeVault(home: home)
      #expect(try !vault.isCopy())
      #expect(try !home.exists(.place), "asking notes nothing")
      try vault.settle()
      let place = try home.read(.place)
      try #require(try home.identity(of: .deviceKey).birth != 0, "the file system keeps times of creation")
      // A file with the same number that was created at another time.
      var other = place
      other[other.count - 1] ^= 1
      try home.write(.place, other)
      #expect(try vault.isCopy())
      try vault.settle()
      #expect(try !vault.isCopy())
      #expect(try home.read(.place) == place)
    }
  }

  @Test("a home of the version before stays where it is")
  func placeOfVersionBefore() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      try home.write(.deviceKey, [1, 2, 3])
      let vault = HomeVault(home: home)
      try vault.settle()
      let place = try home.read(.place)
      try home.write(.place, [1] + place.dropFirst().dropLast(8))
      #expect(try !vault.isCopy())
      try vault.settle()
      #expect(try home.read(.place) == place)
      try home.write(.place, [1, place[1] ^ 1] + place.dropFirst(2).dropLast(8))
      #expect(try vault.isCopy(), "another inode number")
    }
  }
}
