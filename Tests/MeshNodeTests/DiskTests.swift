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
}
