import Foundation
import MeshControl
import SQLiteData
import Testing

@Table private struct Note: Equatable {
  @Column(primaryKey: true) let id: String
  var title = ""
}

@Table private struct Post: Equatable {
  @Column(primaryKey: true) let id: String
  var likes = 0
}

extension Daemons {
  /// The sync engine of an app beside `mesh serve`.
  @Suite("An app as the client of a daemon", .timeLimit(.minutes(5)))
  struct SyncEngineProcessTests {
    /// Returns the app's database of a node, with its own engine. While that runs the node, it listens on `listen`.
    private func app<T: PrimaryKeyedTable>(
      _ mesh: MeshProcess, _ table: T.Type = Note.self, listen: String = "127.0.0.1:0"
    ) throws -> (database: any DatabaseWriter, engine: SyncEngine)
    where T.PrimaryKey.QueryOutput: IdentifierStringConvertible {
      let database = try withDependencies {
        $0.context = .live
      } operation: {
        try defaultDatabase(path: mesh.database)
      }
      let engine = try SyncEngine(
        for: database, tables: table,
        node: NodeConfiguration(home: mesh.home, listen: listen, network: .tcp), startImmediately: false)
      return (database, engine)
    }

    /// Runs a node with one table and a daemon.
    private func serve(_ mesh: MeshProcess, account: String) async throws -> Child {
      try await mesh.sqlite("CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '')")
      try await mesh.done("init", "--database", mesh.database, "--account", account, "--device", account)
      return try await mesh.serve()
    }

    private func eventually(_ what: String, _ condition: () async throws -> Bool) async throws {
      let deadline = ContinuousClock.now + .seconds(60)
      while try await !condition() {
        guard ContinuousClock.now < deadline else { throw Unexpected("not in time: \(what)") }
        try await Task.sleep(for: .milliseconds(20))
      }
    }

    @Test("an app shares, accepts, writes and queries through daemons, and takes the node over when its daemon ends")
    func client() async throws {
      try await MeshProcess.scope { alice in
        try await MeshProcess.scope { bob in
          let daemon = try await serve(alice, account: "alice")
          _ = try await serve(bob, account: "bob")
          let (mine, theirs) = (try app(alice), try app(bob))
          try await mine.engine.start()
          try await theirs.engine.start()
          #expect(try await alice.done("status").stdout.contains("notes"))
          let note = Note(id: "milk", title: "Buy milk")
          try await mine.database.write { db in try Note.insert { note }.execute(db) }
          let shared = try await mine.engine.share(record: note) { $0.title = "Milk" }
          #expect(shared.participants.map(\.name) == ["alice"])
          let accepted = try await theirs.engine.acceptShare(try #require(shared.link))
          #expect(accepted.permission == .readWrite && accepted.owner.name == "alice")
          #expect(try await theirs.database.read { db in try Note.fetchAll(db) } == [note])
          try await theirs.database.write { db in
            try Note.find("milk").update { $0.title = "Buy oat milk" }.execute(db)
          }
          try await theirs.engine.sendChanges()
          try await eventually("the edit") {
            try await mine.database.read { db in try Note.find("milk").fetchOne(db)?.title } == "Buy oat milk"
          }
          try await eventually("metadata") {
            let metadata = try await mine.database.read { db in try SyncMetadata.find(note.syncMetadataID).fetchOne(db)
            }
            return metadata?.isShared == true && metadata?.hasLastKnownServerRecord == true
              && metadata?.share?.participants.map(\.name) == ["alice", "bob"]
          }
          await #expect(throws: SyncError.self, "another process runs the node") {
            try await mine.engine.deleteLocalData()
          }
          #expect(try await daemon.terminate().status == 0)
          // The engine now runs the node.
          try await eventually("took over") { try await mine.engine.shares().first?.id == shared.id }
          try await mine.engine.unshare(record: note)
          #expect(try await mine.engine.shares() == [])
          #expect(try await mine.database.read { db in try Note.fetchCount(db) } == 1)
          mine.engine.stop()
          theirs.engine.stop()
          try await eventually("stopped") { try await alice.run("status").status == 0 }
        }
      }
    }

    @Test("three accounts in two processes share a note, and go on when one of the processes is killed")
    func threeAccounts() async throws {
      try await MeshProcess.scope { alice in
        try await MeshProcess.scope { bob in
          try await MeshProcess.scope { carol in
            let daemon = try await serve(alice, account: "alice")
            for mesh in [bob, carol] {
              try await mesh.sqlite("CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '')")
            }
            // The others dial the address in the invites, also after the daemon has ended.
            let address = try await alice.address()
            let (mine, reader, writer) = (try app(alice, listen: address), try app(bob), try app(carol))
            for engine in [mine.engine, reader.engine, writer.engine] { try await engine.start() }
            let note = Note(id: "milk", title: "Buy milk")
            try await mine.database.write { db in try Note.insert { note }.execute(db) }
            let shared = try await mine.engine.share(record: note) { $0.publicPermission = .readOnly }
            let readers = try #require(shared.link)
            #expect(try await reader.engine.acceptShare(readers).permission == .readOnly)
            let invite = try await mine.engine.inviteParticipant(to: shared.share, permission: .readWrite)
            #expect(try await writer.engine.acceptShare(invite).permission == .readWrite)
            func write(_ title: String, _ database: any DatabaseWriter) async throws {
              try await database.write { db in try Note.find("milk").update { $0.title = title }.execute(db) }
            }
            func show(_ title: String) async throws {
              for (name, database) in [("alice", mine.database), ("bob", reader.database), ("carol", writer.database)] {
                try await eventually("\(name) shows \(title)") {
                  try await database.read { db in try Note.find("milk").fetchOne(db)?.title } == title
                }
              }
            }
            try await write("Buy oat milk", writer.database)
            try await show("Buy oat milk")
            await #expect(throws: DatabaseError.self) { try await write("Mine", reader.database) }
            await daemon.kill()
            try await write("Buy two bottles", mine.database)
            try await show("Buy two bottles")
            try await write("Buy three bottles", writer.database)
            try await show("Buy three bottles")
            try await mine.engine.unshare(record: note)
            for database in [reader.database, writer.database] {
              try await eventually("no rows") { try await database.read { db in try Note.fetchCount(db) } == 0 }
            }
            for engine in [mine.engine, reader.engine, writer.engine] { engine.stop() }
            for mesh in [alice, bob, carol] {
              try await eventually("stopped") { try await mesh.run("status").status == 0 }
            }
          }
        }
      }
    }

    /// Adds likes to a post, as a program that knows nothing of mesh.
    private static let like = """
      import sqlite3, sys
      db = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)
      for _ in range(100): db.execute("UPDATE posts SET likes = likes + 1 WHERE id = 'p'")
      """

    @Test("a policy that a command sets beside an app counts for the app, Python and a participant, until it ends")
    func policies() async throws {
      try await MeshProcess.scope(nodes: 2) { nodes in
        let (alice, bob) = (nodes[0], nodes[1])
        for (mesh, name) in [(alice, "alice"), (bob, "bob")] {
          try await mesh.sqlite("CREATE TABLE posts (id TEXT PRIMARY KEY NOT NULL, likes INTEGER NOT NULL DEFAULT 0)")
          try await mesh.done("init", "--database", mesh.database, "--account", name, "--device", name)
        }
        try await bob.done("track", "posts")
        var daemon = try await bob.serve()
        let (database, engine) = try app(alice, Post.self, listen: try MeshProcess.freeAddress())
        try await engine.start()
        let post = Post(id: "p")
        try await database.write { db in try Post.insert { post }.execute(db) }
        let invite = try #require(try await engine.share(record: post).link)
        try await bob.done("share", "join", "-", "--yes", input: invite + "\n")
        try await eventually("the row") { try await bob.number("SELECT count(*) FROM posts") == 1 }

        try await alice.done("track", "posts", "--policy", "likes=counter")
        try await eventually("the participant knows the policy") {
          try await bob.done("schema").stdout.contains("counter")
        }
        #expect(try await daemon.terminate().status == 0)
        let programs = [try await alice.python(Self.like), try await bob.python(Self.like)]
        for _ in 0..<50 {
          try await database.write { db in try Post.find("p").update { $0.likes += 1 }.execute(db) }
        }
        for program in programs { #expect(try await program.finished(within: .seconds(60)).status == 0) }
        daemon = try await bob.serve()
        func likes(_ count: Int) async throws {
          try await eventually("\(count) likes") {
            let shown = try await database.read { db in try Post.find("p").fetchOne(db)?.likes }
            let others = try await bob.number("SELECT likes FROM posts")
            return shown == count && others == count
          }
        }
        try await likes(250)

        try await alice.done("track", "posts", "--policy", "likes=last")
        try await eventually("the participant knows that it is over") {
          try await !bob.done("schema").stdout.contains("counter")
        }
        #expect(try await daemon.terminate().status == 0)
        try await database.write { db in try Post.find("p").update { $0.likes = 7 }.execute(db) }
        try await bob.sqlite("UPDATE posts SET likes = likes + 1")
        _ = try await bob.serve()
        // Bob's write was the later one.
        try await likes(251)
        engine.stop()
        try await eventually("stopped") { try await !alice.status().running }
      }
    }
  }
}
