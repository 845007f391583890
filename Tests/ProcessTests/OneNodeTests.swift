import Foundation
import MeshControl
import Testing

/// One database has one node.
@Suite struct OneNodeTests {
  /// Copies the home as a backup would: with the same keys and the same database.
  private func copyHome(_ mesh: MeshProcess) async throws -> String {
    let copy = "\(mesh.directory)/copy"
    try FileManager.default.createDirectory(
      atPath: copy, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    for name in try FileManager.default.contentsOfDirectory(atPath: mesh.home)
    where !["control.sock", "lock"].contains(name) {
      try FileManager.default.copyItem(atPath: "\(mesh.home)/\(name)", toPath: "\(copy)/\(name)")
    }
    return copy
  }

  @Test func aSecondNodeOnAFileThatIsServedIsToldOfTheFirst() async throws {
    try await MeshProcess.scope { mesh in
      let daemon = try await mesh.found()
      let copy = try await copyHome(mesh)
      for verb in [["serve", "--listen", "127.0.0.1:0"], ["track", "notes"], ["status"]] {
        let finished = try await mesh.run(verb + ["--home", copy])
        #expect(finished.status == ExitStatus.refused.rawValue)
        #expect(finished.stderr.contains("\(copy) is a copy of the home \(mesh.home)"))
        #expect(finished.stderr.contains(mesh.database))
      }
      try FileManager.default.createSymbolicLink(
        atPath: "\(mesh.directory)/link.db", withDestinationPath: mesh.database)
      let other = try await mesh.run(
        "init", "--home", "\(mesh.directory)/new", "--database", "\(mesh.directory)/link.db")
      #expect(other.status == ExitStatus.refused.rawValue)
      #expect(
        other.stderr.contains("is used by another node of the home \(mesh.home)"), "a link leads to the same file")
      #expect(other.stderr.contains("process \(daemon.pid)"))
    }
  }

  @Test func whenTheFirstIsKilledTheSecondMayHaveTheFile() async throws {
    try await MeshProcess.scope { mesh in
      let daemon = try await mesh.found()
      let copy = try await copyHome(mesh)
      await daemon.kill()
      // The copy takes the place of the first home, which is moved away.
      try FileManager.default.moveItem(atPath: mesh.home, toPath: "\(mesh.directory)/former")
      #expect(try await mesh.run("status", "--home", copy).status == 0)
    }
  }

  @Test func aDatabaseThatIsGoneIsNotMadeAnew() async throws {
    try await MeshProcess.scope { mesh in
      #expect(try await mesh.found().terminate().status == 0)
      try FileManager.default.moveItem(atPath: mesh.database, toPath: "\(mesh.directory)/away.db")
      for verb in [["serve", "--listen", "127.0.0.1:0"], ["status"], ["track", "notes"]] {
        let finished = try await mesh.run(verb)
        #expect(finished.status == ExitStatus.refused.rawValue)
        #expect(finished.stderr.contains("\(mesh.database), the database of this node"))
        #expect(finished.stderr.contains("Put it back"))
        #expect(!FileManager.default.fileExists(atPath: mesh.database))
      }
      try FileManager.default.moveItem(atPath: "\(mesh.directory)/away.db", toPath: mesh.database)
      _ = try await mesh.serve()
    }
  }
}
