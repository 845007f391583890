import Foundation
import Testing

@testable import MeshStore

@Suite struct LockHolderTests {
  @Test("a process has a file open as long as it lives and has not closed it")
  func openFiles() throws {
    let path = FileManager.default.temporaryDirectory.path + "/holder-\(UInt64.random(in: 0..<1 << 40))"
    let other = path + "-other"
    for file in [path, other] { try Data().write(to: URL(fileURLWithPath: file)) }
    defer { for file in [path, other] { try? FileManager.default.removeItem(atPath: file) } }
    let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
    let this = LockHolder(pid: getpid(), program: "")
    #expect(this.hasOpen(try #require(FileIdentity(at: path))))
    #expect(!this.hasOpen(try #require(FileIdentity(at: other))))
    let identity = try #require(FileIdentity(at: path))
    try handle.close()
    #expect(!this.hasOpen(identity))
    // No process has the number zero.
    #expect(!LockHolder(pid: 0, program: "").hasOpen(identity))
  }
}
