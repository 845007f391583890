import Foundation
import GRDB
import Testing

@testable import MeshStore

@Suite final class DatabaseFileTests {
  let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("mesh-file-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  private func path(_ name: String = "app.db") -> String { directory.appendingPathComponent(name).path }

  private func refusal(_ path: String, create: Bool = true, busyTimeout: TimeInterval = 0.02) -> StoreError.Code? {
    do {
      try DatabaseFile(path: path, create: create, busyTimeout: busyTimeout).close()
      return nil
    } catch let error as StoreError {
      #expect(error.message.contains(directory.lastPathComponent), "\(error.message)")
      return error.code
    } catch {
      Issue.record(error)
      return nil
    }
  }

  @Test("a new database is its owner's only, in WAL, durable and defensive")
  func aNewDatabaseIsItsOwnersOnlyInWALDurableAndDefensive() throws {
    let file = try DatabaseFile(path: path())
    try file.queue.writeWithoutTransaction { db in
      #expect(try String.fetchOne(db, sql: "PRAGMA journal_mode") == "wal")
      #expect(try Int.fetchOne(db, sql: "PRAGMA synchronous") == 1)
      #expect(try Int.fetchOne(db, sql: "PRAGMA foreign_keys") == 0)
      #expect(try Int.fetchOne(db, sql: "PRAGMA mmap_size") == 0)
      try db.execute(sql: "CREATE TABLE t (a)")
      try db.execute(sql: "PRAGMA writable_schema = ON")
      #expect(throws: DatabaseError.self) { try db.execute(sql: "DELETE FROM sqlite_schema") }
    }
    try file.quickCheck()
    for suffix in ["", "-wal", "-shm"] {
      var status = stat()
      #expect(stat(path() + suffix, &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600)
    }
    try file.close()
  }

  @Test("triggers that keep a full-text index work on this connection")
  func triggersThatKeepAFullTextIndexWorkOnThisConnection() throws {
    let file = try DatabaseFile(path: path())
    try file.write { db in
      try db.execute(
        sql: """
          CREATE TABLE t (id TEXT PRIMARY KEY NOT NULL, a); CREATE VIRTUAL TABLE f USING fts5(a);
          CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO f (rowid, a) VALUES (NEW.rowid, NEW.a); END;
          INSERT INTO t VALUES ('k', 'some words');
          """)
      #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM f WHERE f MATCH 'words'") == 1)
    }
  }

  @Test("a database in rollback mode is opened as it is, with its rows")
  func aDatabaseInRollbackModeIsOpenedAsItIsWithItsRows() throws {
    try Writer.shell.run(["CREATE TABLE t (a)", "INSERT INTO t VALUES (7)"], on: path())
    let file = try DatabaseFile(path: path(), create: false)
    #expect(try file.read { try Int.fetchOne($0, sql: "SELECT a FROM t") } == 7)
  }

  @Test("what is not a database is told apart from what is encrypted")
  func whatIsNotADatabaseIsToldApartFromWhatIsEncrypted() throws {
    try Data("Dear diary, this is no database at all.\n".utf8).write(to: URL(fileURLWithPath: path("text")))
    #expect(refusal(path("text")) == .notADatabase)
    var state: UInt64 = 7
    let noise = (0..<4_096).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 33)
    }
    try Data(noise).write(to: URL(fileURLWithPath: path("noise")))
    #expect(refusal(path("noise")) == .encrypted)
    try Data(noise.dropLast()).write(to: URL(fileURLWithPath: path("odd")))
    #expect(refusal(path("odd")) == .notADatabase)
    try Data().write(to: URL(fileURLWithPath: path("empty")))
    #expect(refusal(path("empty")) == nil)
  }

  @Test("a missing file, a missing directory and a directory are each named")
  func aMissingFileAMissingDirectoryAndADirectoryAreEachNamed() {
    #expect(refusal(path(), create: false) == .missing)
    #expect(refusal(path("no/such/app.db")) == .cannotOpen)
    #expect(refusal(directory.path) == .cannotOpen)
    #expect(FileManager.default.fileExists(atPath: path()) == false)
  }

  @Test("a lock that is held longer than the time-out is an error, and goes away")
  func aLockThatIsHeldLongerThanTheTimeOutIsAnErrorAndGoesAway() throws {
    var configuration = Configuration()
    configuration.allowsUnsafeTransactions = true
    let other = try DatabaseQueue(path: path(), configuration: configuration)
    try other.writeWithoutTransaction { try $0.execute(sql: "CREATE TABLE t (a); BEGIN EXCLUSIVE") }
    #expect(refusal(path()) == .locked)
    try other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
    #expect(refusal(path()) == nil)
  }

  /// Root may write what its mode forbids, but nobody an immutable file.
  @Test("a file that disappeared while it was used is not a fault of the disk")
  func disappeared() {
    let error = StoreError(DatabaseError(resultCode: .SQLITE_IOERR), path: path("gone.db"))
    #expect(error.message.contains("disappeared") && error.message.contains("put it back"))
  }

  @Test("a file or directory that cannot be written is refused") func aFileOrDirectoryThatCannotBeWrittenIsRefused()
    throws
  {
    try DatabaseFile(path: path()).close()
    for place in [path(), directory.path] {
      try forbid(place, true)
      #expect(refusal(path()) == .readOnly)
      try forbid(place, false)
      #expect(refusal(path()) == nil)
    }
  }

  @Test("a file that belongs to a database is refused", arguments: ["-journal", "-wal", "-shm", "-mesh-lock"])
  func aFileBesideADatabase(suffix: String) throws {
    #expect(refusal(path("app.db" + suffix)) == nil, "there is no such database")
    try FileManager.default.removeItem(atPath: path("app.db" + suffix))
    try DatabaseFile(path: path()).close()
    #expect(refusal(path("app.db" + suffix)) == .cannotOpen)
  }

  @Test("a log that cannot be written is refused", arguments: ["-wal", "-shm"])
  func aLogThatCannotBeWritten(suffix: String) throws {
    let file = try DatabaseFile(path: path())
    try forbid(path() + suffix, true)
    #expect(refusal(path()) == .readOnly)
    try forbid(path() + suffix, false)
    #expect(refusal(path()) == nil)
    try file.close()
  }

  private func forbid(_ place: String, _ isForbidden: Bool) throws {
    guard geteuid() == 0 else {
      #expect(chmod(place, isForbidden ? 0o500 : 0o700) == 0)
      return
    }
    let process = try Process.run(
      URL(fileURLWithPath: "/usr/bin/env"), arguments: ["chattr", isForbidden ? "+i" : "-i", place])
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  @Test("damage is found on request") func damageIsFoundOnRequest() throws {
    let file = try DatabaseFile(path: path())
    try file.write { db in
      try db.execute(sql: "CREATE TABLE t (a); CREATE INDEX i ON t (a)")
      for number in 0..<2_000 { try db.execute(sql: "INSERT INTO t VALUES (?)", arguments: ["row \(number)"]) }
    }
    try file.close()
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path()))
    let (start, end) = (3 * 4_096, 6 * 4_096)
    #expect(bytes.count > end)
    bytes.replaceSubrange(start..<end, with: Data(repeating: 0x5a, count: end - start))
    try bytes.write(to: URL(fileURLWithPath: path()))
    let damaged = try DatabaseFile(path: path())
    let error = #expect(throws: StoreError.self) { try damaged.quickCheck() }
    #expect(error?.code == .corrupt)
  }

  @Test("a table without rowids whose key is not in front is not damaged")
  func keyBehind() throws {
    let file = try DatabaseFile(path: path())
    try file.write { db in
      // A part of the versions of SQLite takes `a` for NULL in each row.
      try db.execute(
        sql: """
          CREATE TABLE t (a TEXT NOT NULL, b INTEGER NOT NULL, id TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
          WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
          INSERT INTO t SELECT 'a', i, 'row ' || i FROM n
          """)
    }
    try file.quickCheck()
    #expect(try IntegrityCheck.firstFault(inDatabase: path()) == nil)
    // A NULL that is there.
    try file.write { db in
      try db.execute(
        sql: """
          CREATE TABLE u (a TEXT, id TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
          INSERT INTO u VALUES (NULL, 'row')
          """)
    }
    let schema = try DatabaseQueue(path: path())
    try schema.writeWithoutTransaction { db in
      try db.execute(
        sql: """
          PRAGMA writable_schema = ON;
          UPDATE sqlite_schema SET sql = replace(sql, 'a TEXT,', 'a TEXT NOT NULL,') WHERE name = 'u';
          PRAGMA writable_schema = RESET
          """)
    }
    try schema.close()
    try file.close()
    #expect(throws: StoreError.self) { try DatabaseFile(path: path()).quickCheck() }
    #expect(try IntegrityCheck.firstFault(inDatabase: path())?.contains("u.a") == true)
  }

  @Test("an old library is refused by its version") func anOldLibraryIsRefusedByItsVersion() throws {
    #expect(throws: StoreError.self) { try DatabaseFile.requireLibrary(version: 3_036_000) }
    try DatabaseFile.requireLibrary(version: 3_037_000)
    let error = #expect(throws: StoreError.self) { try DatabaseFile.requireLibrary(version: 3_008_011) }
    #expect(error?.message.contains("3.8.11") == true)
  }

  @Test("mounts that other machines share are known by type") func mountsThatOtherMachinesShareAreKnownByType() {
    let mounts = """
      22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
      40 22 0:45 / /mnt/nas rw - nfs4 nas:/data rw
      41 22 0:46 / /mnt/ssh rw,nosuid - fuse.sshfs me@host:/ rw
      42 22 0:47 / /mnt/zip rw,nosuid - fuse.fuse-zip zip rw
      """
    #expect(NetworkFileSystem.refusedType(device: 254 << 8 | 1, mountTable: mounts) == nil)
    #expect(NetworkFileSystem.refusedType(device: 45, mountTable: mounts) == "nfs4")
    #expect(NetworkFileSystem.refusedType(device: 46, mountTable: mounts) == "fuse.sshfs")
    #expect(NetworkFileSystem.refusedType(device: 47, mountTable: mounts) == nil)
    #expect(NetworkFileSystem.refusedType(device: 99, mountTable: mounts) == nil)
  }

  @Test("another VFS is chosen by its name") func anotherVFSIsChosenByItsName() throws {
    let file = try DatabaseFile(path: path("odd name?&%.db"), vfs: "unix-excl")
    try file.close()
    #expect(FileManager.default.fileExists(atPath: path("odd name?&%.db")))
    #expect(throws: StoreError.self) { try DatabaseFile(path: path(), vfs: "no-such-vfs") }
  }
}
