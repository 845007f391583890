import Foundation
import Glibc
import Testing

@testable import MeshNode

/// A written file of a home survives a power failure.
@Suite struct DiskTests {
  @Test("a file is synced before it has its name, and its directory afterwards")
  func aFileIsSyncedBeforeItHasItsNameAndItsDirectoryAfterwards() async throws {
    try await withTemporaryDirectory { root in
      let path = "\(root)/highwater"
      try Disk.replace(path, with: [1], mode: 0o600)
      var synced: [(isDirectory: Bool, seen: [UInt8])] = []
      try Disk.replace(path, with: [2], mode: 0o600) { descriptor in
        var status = stat()
        fstat(descriptor, &status)
        let seen = try? Disk.read(path, secret: true)
        synced.append((status.st_mode & S_IFMT == S_IFDIR, seen ?? []))
        return fsync(descriptor)
      }
      #expect(synced.map(\.isDirectory) == [false, true])
      #expect(synced.map(\.seen) == [[1], [2]])
    }
  }

  @Test("what is overwritten in place is synced after it was written, and only there")
  func overwritten() async throws {
    try await withTemporaryDirectory { root in
      let path = "\(root)/highwater"
      try Disk.replace(path, with: [1, 2, 3, 4], mode: 0o600)
      var seen: [[UInt8]] = []
      try Disk.overwrite(path, with: [7, 8], at: 1) { descriptor in
        seen.append((try? Disk.read(path, secret: true)) ?? [])
        return fdatasync(descriptor)
      }
      #expect(seen == [[1, 7, 8, 4]])
      #expect(throws: HomeError.self) { try Disk.overwrite(path, with: [9], at: 0) { _ in -1 } }
      try FileManager.default.createSymbolicLink(atPath: "\(root)/link", withDestinationPath: path)
      #expect(throws: HomeError.self) { try Disk.overwrite("\(root)/link", with: [9], at: 0) }
    }
  }

  @Test("what can't be synced is not put in the old one's place") func whatCantBeSyncedIsNotPutInTheOldOnesPlace()
    async throws
  {
    try await withTemporaryDirectory { root in
      let path = "\(root)/highwater"
      try Disk.replace(path, with: [1], mode: 0o600)
      #expect(throws: HomeError.self) { try Disk.replace(path, with: [2], mode: 0o600) { _ in -1 } }
      #expect(try Disk.read(path, secret: true) == [1])
      #expect(try FileManager.default.contentsOfDirectory(atPath: root) == ["highwater"])
    }
  }

  @Test("a full disk is named with the file that a person knows, and what to do")
  func fullDisk() {
    errno = ENOSPC
    let error = Disk.failure("write", "/home/links.new")
    #expect(error.message == "no space left for /home/links; make room, then try again")
  }

  @Test("a file that the user may not open is named with its owner", .enabled(if: geteuid() == 0))
  func deniedFile() async throws {
    try await withTemporaryDirectory { root in
      let nobody = try #require(getpwnam("nobody")).pointee.pw_uid
      let home = try Home.create(at: "\(root)/home")
      func denied() -> String {
        errno = EACCES
        return Disk.failure("open", "\(home.path)/account/key").message
      }
      #expect(denied().hasSuffix("Permission denied. Change the permissions of \(home.path)/account."))
      try #require(chown("\(home.path)/account", nobody, getgid()) == 0)
      #expect(denied().contains("\(home.path)/account belongs to the user nobody, and this is root."))
    }
  }

  @Test("a directory that has disappeared is named, with what to do")
  func directoryDisappeared() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      try FileManager.default.removeItem(atPath: home.path)
      let error = #expect(throws: HomeError.self) { try home.write(.highWater, [1]) }
      #expect(error?.message.contains("the directory \(home.path) has disappeared. Put it back") == true)
    }
  }

  @Test("another user's home is refused with the name of its owner", .enabled(if: geteuid() == 0))
  func anotherUsersHome() async throws {
    try await withTemporaryDirectory { root in
      let home = try Home.create(at: "\(root)/home")
      let nobody = try #require(getpwnam("nobody")).pointee.pw_uid
      try #require(chown(home.path, nobody, getgid()) == 0)
      let error = #expect(throws: HomeError.self) { try Home.open(at: home.path) }
      #expect(error?.message.contains("belongs to the user nobody, and this is root") == true)
      #expect(error?.message.hasSuffix("sudo -u nobody mesh …") == true)
      #expect(try Home.visited(at: home.path)?.owner == "nobody")
    }
  }

  @Test("a user without a name is named by the id, as sudo takes it")
  func nameless() { #expect(Disk.user(4_000_000_000) == "'#4000000000'") }
}
