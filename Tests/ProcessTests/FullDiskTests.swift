import Foundation
import Glibc
import SQLiteData
import Testing

@Table private struct Note: Equatable {
  @Column(primaryKey: true) let id: String
  var title = ""
}

/// A small file system in memory, which can be filled.
private final class SmallDisk: Sendable {
  let path: String

  /// Whether this process may mount one.
  static let isAvailable = (try? SmallDisk(megabytes: 1)) != nil

  /// Mounts it. Only root may do this.
  init(megabytes: Int) throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("disk-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    guard mount("tmpfs", path, "tmpfs", 0, "size=\(megabytes)m") == 0 else {
      throw Unexpected("can't mount \(path): \(String(cString: strerror(errno)))")
    }
  }

  deinit {
    umount2(path, Self.detach)
    rmdir(path)
  }

  /// `MNT_DETACH`: unmounts it once nobody has a file of it open.
  private static let detach: Int32 = 2

  private var filler: String { "\(path)/filler" }

  /// Takes all space that is left.
  func fill() {
    let file = open(filler, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    defer { close(file) }
    for size in [1 << 16, 1 << 12, 1 << 8, 1] {
      let bytes = [UInt8](repeating: 1, count: size)
      while write(file, bytes, size) == size {}
    }
  }

  func free() { unlink(filler) }
}

extension Daemons {
  /// An app whose disk is full for a while.
  @Suite(
    "An app on a full disk", .enabled(if: SmallDisk.isAvailable, "this process may not mount a file system"),
    .timeLimit(.minutes(5)))
  struct FullDiskTests {
    private func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
      let deadline = ContinuousClock.now + .seconds(90)
      while try await !condition() {
        guard ContinuousClock.now < deadline else { throw Unexpected("not in time: \(what)") }
        try await Task.sleep(for: .milliseconds(50))
      }
    }

    /// Inserts notes until the disk is full. Returns the keys of those that were committed.
    private func write(_ prefix: String, to database: any DatabaseWriter) async throws -> Set<String> {
      let title = String(repeating: "words ", count: 400)
      var written: Set<String> = []
      for number in 0..<100_000 {
        let note = Note(id: "\(prefix)\(number)", title: title)
        do {
          try await database.write { db in try Note.insert { note }.execute(db) }
          written.insert(note.id)
        } catch let error as DatabaseError {
          #expect(error.resultCode == .SQLITE_FULL)
          return written
        }
      }
      throw Unexpected("the disk was never full")
    }

    @Test("what was committed before and while the disk was full arrives, the app is told, and the engine goes on")
    func full() async throws {
      let disk = try SmallDisk(megabytes: 24)
      defer { withExtendedLifetime(disk) {} }
      try await MeshProcess.scope { mesh in
        try await mesh.sqlite("CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '')")
        try await mesh.done("init", "--database", mesh.database, "--account", "alice", "--device", "tower")
        try await mesh.done("track", "notes")
        _ = try await mesh.serve()
        let database = try withDependencies {
          $0.context = .live
        } operation: {
          try defaultDatabase(path: "\(disk.path)/app.db")
        }
        try await database.write { db in
          try db.execute(sql: "CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '')")
        }
        let engine = try SyncEngine(
          for: database, tables: Note.self,
          node: NodeConfiguration(
            home: "\(disk.path)/home", device: "laptop", listen: "127.0.0.1:0", network: .tcp), startImmediately: false)
        try await engine.start()
        let invite = try await mesh.done("device", "invite").stdout.split(separator: "\n").last.map(String.init)
        try await engine.join(try #require(invite))
        var committed: Set<String> = ["before"]
        try await database.write { db in try Note.insert { Note(id: "before") }.execute(db) }
        try await engine.syncChanges()

        disk.fill()
        committed.formUnion(try await write("first", to: database))
        // What others write finds no room either.
        try await mesh.sqlite(
          """
          WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
          INSERT INTO notes SELECT 'theirs' || i, hex(zeroblob(2000)) FROM n
          """)
        try await eventually("the engine tells of it") {
          engine.progress.problems.contains { $0.contains("full") }
        }
        committed.formUnion(try await write("second", to: database))
        let keys = { try await database.read { db in try Set(Note.all.select(\.id).fetchAll(db)) } }
        #expect(try await committed.isSubset(of: keys()))

        disk.free()
        try await eventually("the problem is over") { engine.progress.problems.isEmpty }
        let note = Note(id: "after")
        try await database.write { db in try Note.insert { note }.execute(db) }
        committed.insert(note.id)
        try await engine.syncChanges()
        try await eventually("theirs are here") { try await keys().count { $0.hasPrefix("theirs") } == 500 }
        let there = Set(try await mesh.sqlite("SELECT id FROM notes").split(separator: "\n").map(String.init))
        #expect(try await there == keys())
        #expect(committed.isSubset(of: there))
        #expect(try await database.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
        engine.stop()
        try await eventually("stopped") { !engine.isRunning }
      }
    }
  }
}
