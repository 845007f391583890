import Foundation
import GRDB
import MeshCrypto
import Testing

@testable import MeshStore

/// A log that is left beside a database after its programs were killed.
@Suite struct KnownLogTests {
  private let directory = FileManager.default.temporaryDirectory.appending(path: "known-log-\(UUID().uuidString)").path
  private var path: String { "\(directory)/a.db" }
  private var other: String { "\(directory)/other.db" }

  /// Makes a database whose log was not copied into it, as after a kill, and returns what was known about the log.
  private func leaveLog(beforeEnd body: (Store) throws -> Void = { _ in }) throws -> KnownLog {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    // The first store creates the tables of mesh, and copies them into the file.
    try Store(path: path, cryptography: try Sodium()).close()
    let store = try Store(path: path, cryptography: try Sodium())
    try store.zones.setStandings([])
    let log = try #require(try store.file.knownLog())
    #expect(KnownLog.isCurrent(log, at: path))
    try body(store)
    // Another name keeps the log while the store removes it.
    #expect(link(path + "-wal", "\(directory)/log") == 0)
    try store.close()
    #expect(rename("\(directory)/log", path + "-wal") == 0)
    return log
  }

  private func makeOther() throws {
    let queue = try DatabaseQueue(path: other)
    try queue.write { try $0.execute(sql: "CREATE TABLE other (id INTEGER PRIMARY KEY)") }
    try queue.close()
  }

  @Test("a log belongs to its file, whatever became of the program that wrote it")
  func own() throws {
    let log = try leaveLog()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    #expect(log.relation(at: path) == .own)
  }

  @Test("a log beside another database is foreign, and is moved as it is")
  func foreign() throws {
    let log = try leaveLog()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try makeOther()
    #expect(rename(other, path) == 0)
    #expect(log.relation(at: path) == .foreign)
    let bytes = try Data(contentsOf: URL(filePath: path + "-wal"))
    try KnownLog.moveLog(of: path, to: path + "-wal-former")
    #expect(try Data(contentsOf: URL(filePath: path + "-wal-former")) == bytes)
    #expect(log.relation(at: path) == .own)
  }

  @Test("a copy from an earlier opening of the file is another database for the log")
  func earlierCopy() throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    let store = try Store(path: path, cryptography: try Sodium())
    _ = try store.file.backUp(to: other)
    try store.close()
    let log = try leaveLog()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    #expect(rename(other, path) == 0)
    #expect(log.relation(at: path) == .foreign)
  }

  @Test("a log beside a copy of its file may belong to the copy")
  func copies() throws {
    let (plain, late) = ("\(directory)/plain.db", "\(directory)/late.db")
    let log = try leaveLog {
      _ = try $0.file.backUp(to: other)
      // This copy has nothing of the log, which begins a new history of the file.
      try FileManager.default.copyItem(atPath: path, toPath: plain)
    }
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try FileManager.default.copyItem(atPath: path, toPath: late)
    for copy in [other, plain, late] {
      #expect(rename(copy, path) == 0)
      #expect(log.relation(at: path) == .ofOriginal)
    }
  }

  @Test("a file that was restored together with its log keeps it")
  func restoredWithLog() throws {
    let log = try leaveLog()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try makeOther()
    for name in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: path + name, toPath: "\(directory)/pair.db" + name)
    }
    #expect(rename(other, path) == 0)
    for name in ["", "-wal"] { #expect(rename("\(directory)/pair.db" + name, path + name) == 0) }
    #expect(log.relation(at: path) == .own)
  }

  @Test("nothing is known about a log that has begun again")
  func begunAgain() throws {
    let log = try leaveLog()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try makeOther()
    #expect(rename(other, path) == 0)
    let file = try #require(FileHandle(forUpdatingAtPath: path + "-wal"))
    try file.seek(toOffset: 16)
    try file.write(contentsOf: Data([1, 2, 3, 4]))
    try file.close()
    #expect(log.relation(at: path) == .own)
  }

  @Test("a foreign log that is still open is reported as used")
  func used() throws {
    let log = try leaveLog()
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let program = try DatabaseQueue(path: path)
    _ = try program.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM mesh_state") }
    try makeOther()
    #expect(rename(other, path) == 0)
    #expect(log.relation(at: path) == .used([]))
  }
}
