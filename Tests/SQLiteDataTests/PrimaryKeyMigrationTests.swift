import DependenciesTestSupport
import Foundation
import GRDB
import SQLiteData
import Testing

@SQLiteData.Table private struct Parent { let id: UUID }
@SQLiteData.Table("children") private struct Child { let id: UUID }
@SQLiteData.Table private struct Tag { let id: UUID }
@SQLiteData.Table private struct ChildTag { let id: UUID }
@SQLiteData.Table private struct Cover { @Column(primaryKey: true) let parentID: UUID }
@SQLiteData.Table private struct Custom { @Column(primaryKey: true) let key: UUID }
@SQLiteData.Table(schema: "other") private struct Attached { let id: UUID }
@SQLiteData.Table private struct Pair {
  let id: ID
  @Selection struct ID {
    let a: Int
    let b: Int
  }
}

@DatabaseFunction private func newKey() -> String { "key-\(UUID())" }

@Suite("Migration of primary keys")
struct PrimaryKeyMigrationTests {
  private static let family = """
    CREATE TABLE "parents" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "name" TEXT NOT NULL);
    CREATE TABLE "children" (
      "id" INTEGER PRIMARY KEY,
      "name" TEXT NOT NULL,
      "parentID" INTEGER REFERENCES "parents"("id") ON DELETE CASCADE
    );
    CREATE TABLE "tags" ("title" TEXT NOT NULL);
    CREATE TABLE "childTags" (
      "childID" INTEGER NOT NULL REFERENCES "children" ON DELETE CASCADE,
      "tag" TEXT NOT NULL
    );
    INSERT INTO "parents" VALUES (1, 'Blob'), (1000, 'Blobby');
    INSERT INTO "children" VALUES (1, 'Blob Jr', 1), (2, 'Blobby Jr', 1000), (3, 'Nobody''s', NULL);
    INSERT INTO "tags" VALUES ('home'), ('work');
    INSERT INTO "childTags" VALUES (1, 'home'), (1, 'work'), (3, 'home');
    """

  private func migrateFamily(_ db: Database, salt: String? = "salt") throws {
    try db.migratePrimaryKeys(tables: Parent.self, Child.self, Tag.self, ChildTag.self, salt: salt)
  }

  @Test("numbered rows get UUIDs, references follow, and tables without a key get one")
  func basics() throws {
    let database = try database(Self.family)
    try migrate(database) { try migrateFamily($0) }
    try database.write { (db) throws in
      #expect(
        try db.sql(of: "parents") == """
          CREATE TABLE "parents" ("id" TEXT PRIMARY KEY  NOT NULL ON CONFLICT REPLACE DEFAULT ("uuid"()), \
          "name" TEXT NOT NULL)
          """)
      #expect(
        try db.sql(of: "children") == """
          CREATE TABLE "children" (
            "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT ("uuid"()),
            "name" TEXT NOT NULL,
            "parentID" TEXT REFERENCES "parents"("id") ON DELETE CASCADE
          )
          """)
      #expect(
        try db.sql(of: "tags") == """
          CREATE TABLE "tags" (
            "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT ("uuid"()),"title" TEXT NOT NULL)
          """)
      #expect(
        try db.texts(
          """
          SELECT p.name || '/' || c.name FROM children c LEFT JOIN parents p ON c.parentID = p.id WHERE p.id IS NOT NULL
          UNION ALL SELECT name FROM children WHERE parentID IS NULL
          UNION ALL SELECT c.name || '/' || t.tag FROM childTags t JOIN children c ON t.childID = c.id
          """) == ["Blob/Blob Jr", "Blobby/Blobby Jr", "Nobody's", "Blob Jr/home", "Blob Jr/work", "Nobody's/home"])
      #expect(try db.texts("SELECT rowid || name FROM parents") == ["1Blob", "1000Blobby"])
      for key in try db.texts("SELECT id FROM parents UNION SELECT id FROM children UNION SELECT id FROM childTags") {
        #expect(UUID(uuidString: key) != nil && key == key.lowercased())
      }
      try db.execute(sql: "INSERT INTO children (name) VALUES ('new')")
      #expect(try db.texts("SELECT length(id) FROM children WHERE name = 'new'") == ["36"])
      try db.execute(sql: "DELETE FROM parents WHERE name = 'Blob'")
      #expect(try db.texts("SELECT name FROM children") == ["Blobby Jr", "Nobody's", "new"])
      #expect(try db.texts("SELECT tag FROM childTags") == ["home"])
    }
  }

  @Test("copies of one database become equal with the same salt, and only with the same")
  func salts() throws {
    func migrated(_ salt: String?) throws -> [String] {
      let database = try database(Self.family)
      try migrate(database) { try migrateFamily($0, salt: salt) }
      return try database.read { try $0.everything() }
    }
    let first = try migrated("a")
    #expect(try migrated("a") == first)
    #expect(try migrated("b") != first)
    #expect(try migrated(nil) != migrated(nil))
  }

  @Test("the UUIDs are those of the documented formula")
  func formula() throws {
    let database = try database(Self.family)
    try migrate(database) { try migrateFamily($0, salt: "salt") }
    // The expected UUID comes from python3 -c 'import hashlib; print(hashlib.sha256(b"salt\tparents\t1").hexdigest())',
    // with version and variant set.
    #expect(
      try database.read { try $0.texts("SELECT id FROM parents WHERE name = 'Blob'") } == [
        "1079ca38-580a-8fe0-941b-6229a51f4dae"
      ])
  }

  @Test("a second call changes nothing")
  func idempotence() throws {
    let database = try database(Self.family)
    try migrate(database) { try migrateFamily($0) }
    try database.writeWithoutTransaction { (db) throws in
      let before = try (db.everything(), db.texts("PRAGMA schema_version"), db.totalChangesCount)
      try db.execute(sql: "PRAGMA foreign_keys = OFF")
      try migrateFamily(db, salt: "another")
      #expect(try db.everything() == before.0)
      #expect(try db.texts("PRAGMA schema_version") == before.1)
      #expect(db.totalChangesCount == before.2)
    }
  }

  @Test("definitions of every form are parsed, and unaffected parts are kept")
  func definitions() throws {
    try expect(
      """
      CREATE TABLE parents(id integer primary key desc on conflict abort, title text unique)
      """,
      """
      CREATE TABLE "parents" (id TEXT primary key  on conflict abort NOT NULL ON CONFLICT REPLACE DEFAULT ("uuid"()), \
      title text unique)
      """)
    try expect(
      """
      CREATE TABLE [parents] ( -- a (comment
        `id` /* , */ INTEGER
          CONSTRAINT "the key" PRIMARY KEY -- the, key
          NOT NULL DEFAULT (1 + (2)) CHECK (length("id") > 0) COLLATE NOCASE,
        "unique" TEXT DEFAULT 'a, (b', -- not a keyword
        "a ""b"" c" DECIMAL(10, 2) NOT NULL ON CONFLICT IGNORE DEFAULT -1.5,
        "upper" TEXT GENERATED ALWAYS AS (upper("unique") || ',') VIRTUAL,
        CONSTRAINT "x" CHECK ("unique" <> ')') UNIQUE ("unique", "a ""b"" c") ON CONFLICT REPLACE
      ) STRICT
      """.replacingOccurrences(of: "DECIMAL(10, 2)", with: "REAL"),
      """
      CREATE TABLE "parents" ( -- a (comment
        `id` /* , */ TEXT
          CONSTRAINT "the key" PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT ("uuid"()) -- the, key
            CHECK (length("id") > 0) COLLATE NOCASE,
        "unique" TEXT DEFAULT 'a, (b', -- not a keyword
        "a ""b"" c" REAL NOT NULL ON CONFLICT IGNORE DEFAULT -1.5,
        "upper" TEXT GENERATED ALWAYS AS (upper("unique") || ',') VIRTUAL,
        CONSTRAINT "x" CHECK ("unique" <> ')') UNIQUE ("unique", "a ""b"" c") ON CONFLICT REPLACE
      ) STRICT
      """)
    try expect(
      """
      CREATE TABLE "parents" ("id" INTEGER NOT NULL, "n" DECIMAL(10, 2), PRIMARY KEY("id" AUTOINCREMENT), FOREIGN KEY ("n") \
      REFERENCES "parents" ("id") ON DELETE SET NULL ON UPDATE NO ACTION MATCH FULL NOT DEFERRABLE INITIALLY DEFERRED)
      """,
      """
      CREATE TABLE "parents" ("id" TEXT NOT NULL ON CONFLICT REPLACE DEFAULT ("uuid"()) , "n" TEXT, \
      PRIMARY KEY("id" ), FOREIGN KEY ("n") \
      REFERENCES "parents" ("id") ON DELETE SET NULL ON UPDATE NO ACTION MATCH FULL NOT DEFERRABLE INITIALLY DEFERRED)
      """)
    try expect(
      "CREATE TABLE parents (id INT PRIMARY KEY, x DEFAULT x'00', y DEFAULT 1.5e-5 NOT NULL) WITHOUT ROWID",
      """
      CREATE TABLE "parents" (id TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT ("uuid"()), x DEFAULT x'00', \
      y DEFAULT 1.5e-5 NOT NULL) WITHOUT ROWID
      """)
  }

  /// Compares the definition of `parents` after a migration.
  private func expect(_ sql: String, _ migrated: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let database = try database(sql)
    try migrate(database) { try $0.migratePrimaryKeys(tables: Parent.self, salt: "s") }
    let result = try database.read { try $0.sql(of: "parents") }
    #expect(result == migrated, sourceLocation: sourceLocation)
  }

  @Test("tables without row numbers, generated columns and numbers in other forms are copied")
  func values() throws {
    let database = try database(
      """
      CREATE TABLE "parents" ("id" INT PRIMARY KEY, "name" TEXT, "shout" TEXT AS (upper("name")) STORED) WITHOUT ROWID;
      CREATE TABLE "children" ("id" INTEGER PRIMARY KEY, "name", "parentID" REFERENCES "parents");
      CREATE TABLE "customs" ("rowid" TEXT, "parentID" INTEGER REFERENCES "parents", "same" AS ("parentID"));
      INSERT INTO "parents" ("id", "name") VALUES (1, 'a'), (-5, 'b'), (9223372036854775807, 'c');
      INSERT INTO "children" VALUES (7, 'x', '1.0'), (8, 'y', -5), (9, 'z', 9223372036854775807);
      INSERT INTO "customs" VALUES ('r', -5);
      """)
    try migrate(database) { try $0.migratePrimaryKeys(tables: Parent.self, Child.self, Custom.self, salt: "s") }
    try database.read { (db) throws in
      #expect(
        try db.texts(
          "SELECT c.rowid || c.name || p.shout FROM children c JOIN parents p ON p.id = c.parentID ORDER BY 1")
          == ["7xA", "8yB", "9zC"])
      #expect(
        try db.texts("SELECT c.\"rowid\" || p.name FROM customs c JOIN parents p ON p.id = c.same AND length(key) = 36")
          == ["rb"])
    }
  }

  @Test("rows refer to their own table, and tables to each other")
  func circles() throws {
    let database = try database(
      """
      CREATE TABLE "parents" (
        "id" INTEGER PRIMARY KEY, "name" TEXT, "up" INTEGER REFERENCES "parents" ON DELETE SET NULL,
        "favorite" INTEGER REFERENCES "children" ("id") DEFERRABLE INITIALLY DEFERRED
      );
      CREATE TABLE "children" ("id" INTEGER PRIMARY KEY, "name" TEXT, "of" INTEGER NOT NULL REFERENCES "parents");
      INSERT INTO "parents" VALUES (1, 'a', NULL, NULL), (2, 'b', 1, 2), (3, 'c', 3, 1);
      INSERT INTO "children" VALUES (1, 'x', 3), (2, 'y', 1);
      """)
    try migrate(database) { try $0.migratePrimaryKeys(tables: Parent.self, Child.self, salt: "s") }
    try database.write { (db) throws in
      let names = "SELECT p.name || ifnull(u.name, '-') || ifnull(f.name, '-') || ifnull(o.name, '-') FROM parents p"
      #expect(
        try db.texts(
          """
          \(names) LEFT JOIN parents u ON u.id = p.up LEFT JOIN children f ON f.id = p.favorite
          LEFT JOIN parents o ON o.id = f.of ORDER BY 1
          """) == ["a---", "baya", "ccxc"])
      try db.execute(sql: "UPDATE parents SET up = NULL; DELETE FROM parents WHERE name = 'b'")
    }
  }

  @Test("a key that refers to another row has that row's key, through the whole chain")
  func sharedKeys() throws {
    let database = try database(
      """
      CREATE TABLE "parents" ("id" INTEGER PRIMARY KEY);
      CREATE TABLE "covers" ("parentID" INTEGER PRIMARY KEY NOT NULL REFERENCES "parents" ON DELETE CASCADE, "image");
      CREATE TABLE "children" ("id" INTEGER PRIMARY KEY, "coverID" INTEGER REFERENCES "covers" DEFAULT 2);
      INSERT INTO "parents" VALUES (1), (2);
      INSERT INTO "covers" VALUES (2, x'00');
      INSERT INTO "children" VALUES (1, 2), (2, NULL);
      """)
    try migrate(database) { try $0.migratePrimaryKeys(tables: Cover.self, Child.self, Parent.self, salt: "s") }
    try database.write { (db) throws in
      #expect(
        try db.sql(of: "covers") == """
          CREATE TABLE "covers" ("parentID" TEXT PRIMARY KEY NOT NULL  REFERENCES "parents" ON DELETE CASCADE, "image")
          """)
      #expect(try db.texts("SELECT p.rowid FROM parents p JOIN covers c ON c.parentID = p.id") == ["2"])
      try db.execute(sql: "INSERT INTO children DEFAULT VALUES")
      #expect(
        try db.texts("SELECT count(*) FROM children c JOIN parents p ON p.id = c.coverID AND p.rowid = 2") == ["2"])
    }
  }

  @Test("indexes, triggers and views exist afterwards")
  func schema() throws {
    let database = try database(
      Self.family + """
        ;CREATE INDEX "children_parentID" ON "children" ("parentID", lower("name")) WHERE "name" <> '';
        CREATE UNIQUE INDEX "parentNames" ON "parents" ("name" COLLATE NOCASE);
        CREATE VIEW "names" AS SELECT c.name AS child, p.name AS parent FROM children c JOIN parents p ON p.id = c.parentID;
        CREATE TRIGGER "rename" INSTEAD OF UPDATE OF "child" ON "names" BEGIN
          UPDATE children SET name = new.child WHERE name = old.child;
        END;
        CREATE TRIGGER "noted" AFTER UPDATE ON "Children" BEGIN INSERT INTO tags (title) VALUES (new.name); END;
        """)
    try database.write { (db) throws in
      try db.execute(
        sql: """
          CREATE TEMP TRIGGER "temporary" AFTER INSERT ON main."tags" BEGIN UPDATE parents SET name = name || '!'; END
          """)
      try db.execute(sql: "CREATE VIEW \"broken\" AS SELECT * FROM nowhere")
    }
    let before = try database.write { try $0.others() }
    try migrate(database) { try migrateFamily($0) }
    try database.write { (db) throws in
      #expect(try db.others() == before)
      try db.execute(sql: "UPDATE names SET child = 'renamed' WHERE parent = 'Blob'")
      #expect(try db.texts("SELECT title FROM tags") == ["home", "work", "renamed"])
      #expect(try db.texts("SELECT name FROM parents") == ["Blob!", "Blobby!"])
      #expect(try db.texts("PRAGMA integrity_check") == ["ok"])
    }
  }

  @Test("UNIQUE is dropped on request, in each of its forms")
  func uniqueConstraints() throws {
    let database = try database(
      """
      CREATE TABLE "parents" (
        "id" INTEGER PRIMARY KEY, "a" TEXT UNIQUE, "unique" TEXT CONSTRAINT "u" UNIQUE ON CONFLICT IGNORE NOT NULL,
        UNIQUE ("a", "unique") ON CONFLICT REPLACE, CONSTRAINT "v" UNIQUE ("a"), CHECK ("a" <> 'UNIQUE')
      );
      CREATE TABLE "tags" ("id" TEXT PRIMARY KEY, "title" TEXT);
      CREATE UNIQUE INDEX "titles" ON "tags" ("title") WHERE "title" <> '';
      """)
    try migrate(database) {
      try $0.migratePrimaryKeys(tables: Parent.self, Tag.self, dropUniqueConstraints: true, salt: "s")
    }
    try database.read { (db) throws in
      #expect(
        try db.sql(of: "parents")
          == """
          CREATE TABLE "parents" (
            "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT ("uuid"()), "a" TEXT , "unique" TEXT  NOT NULL, \
          CHECK ("a" <> 'UNIQUE')
          )
          """.replacingOccurrences(of: "NOT NULL, CHECK", with: "NOT NULL, CHECK"))
      #expect(try db.texts("SELECT count(*) FROM pragma_index_list('tags') WHERE origin = 'c' AND \"unique\"") == ["0"])
      #expect(try db.sql(of: "titles") == "CREATE INDEX \"titles\" ON \"tags\" (\"title\") WHERE \"title\" <> ''")
    }
  }

  @Test("a table whose key is text keeps it, with its collation, and so do references to it")
  func textKeys() throws {
    let sql = """
      CREATE TABLE "tags" ("id" TEXT PRIMARY KEY COLLATE NOCASE);
      CREATE TABLE "childTags" ("id" INTEGER PRIMARY KEY, "tagID" TEXT REFERENCES "tags" COLLATE NOCASE);
      INSERT INTO "tags" VALUES ('Home');
      INSERT INTO "childTags" VALUES (1, 'home');
      """
    let database = try database(sql)
    let before = try database.read { try $0.sql(of: "tags") }
    try migrate(database) { try $0.migratePrimaryKeys(tables: Tag.self, ChildTag.self, salt: "s") }
    try database.read { (db) throws in
      #expect(try db.sql(of: "tags") == before)
      #expect(try db.texts("SELECT tagID || tags.id FROM childTags JOIN tags ON tags.id = tagID") == ["homeHome"])
      #expect(try db.texts("SELECT length(id) FROM childTags") == ["36"])
    }
  }

  @Test("the default of the keys may be another function")
  func function() throws {
    let database = try database(Self.family)
    try migrate(database) { db in
      db.add(function: $newKey)
      try db.migratePrimaryKeys(tables: Parent.self, Child.self, Tag.self, ChildTag.self, uuid: $newKey)
    }
    try database.write { (db) throws in
      db.add(function: $newKey)
      try db.execute(sql: "INSERT INTO parents (name) VALUES ('new')")
      #expect(try db.texts("SELECT substr(id, 1, 4) FROM parents WHERE name = 'new'") == ["key-"])
    }
  }

  @Test("an error lists every problem to fix, with the remedy, and nothing has changed")
  func violations() throws {
    let database = try database(
      """
      CREATE TABLE "parents" ("id" BLOB PRIMARY KEY);
      CREATE TABLE "children" (
        "id" INTEGER PRIMARY KEY, "a" INTEGER REFERENCES "missing", "b" INTEGER REFERENCES "others",
        "c" INTEGER DEFAULT (abs(-1)) REFERENCES "children", "d" INTEGER REFERENCES "children" REFERENCES "childTags"
      );
      CREATE TABLE "others" ("id" INTEGER PRIMARY KEY, "childID" INTEGER REFERENCES "children");
      CREATE TABLE "tags" ("id" INTEGER, "title" TEXT);
      CREATE TABLE "pairs" ("a" INTEGER, "b" INTEGER, PRIMARY KEY ("a", "b"));
      CREATE TABLE "childTags" ("id" INTEGER PRIMARY KEY);
      INSERT INTO "children" ("id", "c") VALUES (1, 5);
      """)
    let before = try database.read { try $0.everything() }
    let error = #expect(throws: PrimaryKeyMigrationError.self) {
      try migrate(database) { db in
        try db.migratePrimaryKeys(
          tables: Parent.self, Child.self, Tag.self, Pair.self, ChildTag.self, Cover.self, Attached.self, salt: "s")
      }
    }
    #expect(try database.read { try $0.everything() } == before)
    #expect(
      error?.description == """
        can't migrate the primary keys, and nothing has changed:

        parents: primary key "id" is of type 'BLOB', and only INTEGER and TEXT can be migrated
          Copy the rows to a table with 'INTEGER PRIMARY KEY' or a TEXT key before.

        tags: column "id" isn't the primary key of the table
          Declare it as PRIMARY KEY, or rename it: ALTER TABLE "tags" RENAME COLUMN "id" TO "old_id"

        pairs: the primary key has several columns: "a", "b"
          Give each row a key of its own: create the table again without PRIMARY KEY ("a", "b"), copy the rows, and \
        list it here. Keep the columns unique with CREATE UNIQUE INDEX if you don't synchronize the table.

        covers: there is no such table
          Create it before, leave it out, or name it with '@Table("…")'. Views and virtual tables have no keys.

        attacheds: the table is in the attached database "other"
          Open that database by itself, and migrate the keys of its tables there.

        children: column "a" refers to table "missing", which doesn't exist
          Create that table, or create "children" again without the reference.

        children: column "b" refers to table "others", which isn't listed
          List the type of "others" in 'tables' as well.

        children: column "d" refers to the keys of several tables
          Create the table again with a column for each reference.

        others: column "childID" refers to a key that changes, and the table isn't listed
          List the type of "others" in 'tables' as well, or drop the table.

        children: the default of column "c" is abs(-1), and only a number can be migrated
          Create the table again with a number or without a default.

        children: row 1 refers by "c" to a row of "children" that doesn't exist
          Delete it: DELETE FROM "children" WHERE rowid = 1; or, if the column may be NULL: UPDATE "children" SET "c" \
        = NULL WHERE rowid = 1;
        """)
  }

  @Test("a reference to a column that isn't unique, and one to a column that has to stay unique, are violations")
  func uniqueTargets() throws {
    let database = try database(
      """
      CREATE TABLE "parents" ("id" INTEGER PRIMARY KEY, "code" TEXT, "short" TEXT UNIQUE);
      CREATE TABLE "children" (
        "id" INTEGER PRIMARY KEY, "code" TEXT REFERENCES "parents" ("code"), "short" REFERENCES "parents" ("short"));
      INSERT INTO "children" VALUES (1, 'x', NULL);
      """)
    let error = #expect(throws: PrimaryKeyMigrationError.self) {
      try migrate(database) {
        try $0.migratePrimaryKeys(tables: Parent.self, Child.self, dropUniqueConstraints: true, salt: "s")
      }
    }
    #expect(
      error?.violations.map(\.problem) == [
        "column \"code\" refers to column \"code\" of \"parents\", which has to stay unique for that",
        "column \"short\" refers to column \"short\" of \"parents\", which has to stay unique for that",
        "a reference points to columns that aren't unique: foreign key mismatch - \"children\" referencing \"parents\"",
      ])
  }

  @Test("a table that is listed twice is migrated once")
  func duplicates() throws {
    let database = try database(Self.family)
    try migrate(database) {
      try $0.migratePrimaryKeys(tables: Parent.self, Child.self, Parent.self, Tag.self, ChildTag.self, salt: "s")
    }
    #expect(
      try database.read { try $0.texts("SELECT c.name FROM children c JOIN parents p ON p.id = c.parentID") }
        == ["Blob Jr", "Blobby Jr"])
  }

  @Test("a failure in the middle changes nothing")
  func atomicity() throws {
    let database = try database(
      Self.family + ";CREATE TABLE \"customs\" (\"key\" INTEGER PRIMARY KEY CHECK (typeof(\"key\") = 'integer'));"
        + "INSERT INTO customs VALUES (1)")
    let before = try database.read { try $0.everything() }
    #expect(throws: DatabaseError.self) {
      try migrate(database) { db in
        try db.migratePrimaryKeys(
          tables: Parent.self, Child.self, Tag.self, ChildTag.self, Custom.self, salt: "s")
      }
    }
    #expect(try database.read { try $0.everything() } == before)
    // This is inside of a transaction that continues after the error.
    try database.writeWithoutTransaction { (db) throws in
      try db.execute(sql: "PRAGMA foreign_keys = OFF; BEGIN")
      #expect(throws: DatabaseError.self) {
        try db.migratePrimaryKeys(tables: Parent.self, Child.self, Tag.self, ChildTag.self, Custom.self, salt: "s")
      }
      try db.execute(sql: "COMMIT; PRAGMA foreign_keys = ON")
      #expect(try db.everything() == before)
      #expect(try db.texts("PRAGMA legacy_alter_table") == ["0"])
      #expect(throws: DatabaseError.self) { try db.execute(sql: "SELECT sqlitedata_migratedKey('a', 1)") }
    }
  }

  @Test("enforced foreign keys and a missing uuid() are errors that say what to do")
  func preconditions() throws {
    let database = try database(Self.family)
    let enforced = #expect(throws: PrimaryKeyMigrationError.self) { try database.write { try migrateFamily($0) } }
    #expect(enforced?.description.contains("PRAGMA foreign_keys = OFF") == true)
    let queue = try DatabaseQueue()
    let missing = #expect(throws: PrimaryKeyMigrationError.self) { try queue.write { try migrateFamily($0) } }
    #expect(missing?.description.contains("db.add(function: $uuid)") == true)
  }

  @Test("for any references, the same rows belong together afterwards", arguments: 1...20)
  func generated(seed: UInt64) throws {
    var random = Generator(state: seed)
    let names = ["parents", "children", "tags", "childTags"]
    var sql = ""
    var references: [(table: String, column: String, target: String)] = []
    for name in names {
      var columns = ["\"id\" \(["INTEGER", "INT", "BIGINT"].randomElement(using: &random) ?? "") PRIMARY KEY NOT NULL"]
      for index in 0..<Int.random(in: 0...3, using: &random) {
        guard let target = names.randomElement(using: &random) else { continue }
        let type = ["INTEGER", "", "INT NULL"].randomElement(using: &random) ?? ""
        columns.append("\"c\(index)\" \(type) REFERENCES \"\(target)\" (\"id\")")
        references.append((name, "c\(index)", target))
      }
      sql +=
        "CREATE TABLE \"\(name)\" (\(columns.joined(separator: ", ")))\(Bool.random(using: &random) ? "" : " WITHOUT ROWID");"
    }
    for name in names {
      for id in 1...9 {
        sql += "INSERT INTO \"\(name)\" (\"id\") VALUES (\(id * Int.random(in: 1...9, using: &random) * 10 + id));"
      }
    }
    for (table, column, target) in references {
      sql += """
        UPDATE "\(table)" SET "\(column)" = (
          SELECT "id" FROM "\(target)" WHERE "id" % 10 = abs("\(table)"."id" * \(seed) + \(column.count)) % 12);
        """
    }
    let database = try database(sql)
    func pairs(_ db: Database) throws -> [Int] {
      try references.map { table, column, target in
        try Int.fetchOne(
          db, sql: "SELECT count(*) FROM \"\(table)\" a JOIN \"\(target)\" b ON a.\"\(column)\" = b.\"id\"") ?? -1
      }
    }
    let before = try database.read { try pairs($0) }
    try migrate(database) { try migrateFamily($0, salt: nil) }
    #expect(try database.read { try pairs($0) } == before)
    #expect(try database.read { try $0.texts("SELECT count(*) FROM parents WHERE length(id) <> 36") } == ["0"])
  }

  @Test("the article shows the migrated definitions")
  func article() throws {
    let article = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
      path: "../../Sources/SQLiteData/SQLiteData.docc/PreparingAnExistingSchema.md")
    let text = try String(contentsOf: article, encoding: .utf8)
    let block = try #require(text.firstMatch(of: /(?s)```sql\n(.*?)```/)).output.1
    func words(_ sql: some StringProtocol) -> String {
      sql.split(whereSeparator: \.isWhitespace).joined(separator: " ").replacing("( ", with: "(").replacing(
        " )", with: ")"
      )
      .replacing(", ", with: ",")
    }
    let definitions = block.split(separator: ";\n").map(String.init)
    try #require(definitions.count == 4)
    let database = try database(
      "CREATE TABLE projects (id INTEGER PRIMARY KEY, title TEXT);" + definitions[..<2].joined(separator: ";"))
    try migrate(database) { try $0.migratePrimaryKeys(tables: Project.self, Milestone.self, ProjectMember.self) }
    try database.read { (db) throws in
      #expect(words(try db.sql(of: "milestones") ?? "") == words(definitions[2]))
      #expect(words(try db.sql(of: "projectMembers") ?? "") == words(definitions[3]))
    }
  }

  // MARK: Tools

  private func database(_ sql: String) throws -> any DatabaseWriter {
    let database = try defaultDatabase()
    try database.writeWithoutTransaction { (db) throws in
      try db.execute(sql: "PRAGMA foreign_keys = OFF")
      try db.execute(sql: sql)
      try db.execute(sql: "PRAGMA foreign_keys = ON")
    }
    return database
  }

  private func migrate(
    _ database: any DatabaseWriter, _ migration: @escaping @Sendable (Database) throws -> Void
  ) throws {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("\(UUID())") { try migration($0) }
    try database.writeWithoutTransaction { try $0.execute(sql: "DROP TABLE IF EXISTS grdb_migrations") }
    try migrator.migrate(database)
    try database.writeWithoutTransaction { try $0.execute(sql: "DROP TABLE IF EXISTS grdb_migrations") }
  }
}

private struct Generator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 33
  }
}

extension Database {
  fileprivate func texts(_ sql: String) throws -> [String] { try String.fetchAll(self, sql: sql) }

  fileprivate func sql(of name: String) throws -> String? {
    try String.fetchOne(self, sql: "SELECT sql FROM sqlite_schema WHERE name = ?", arguments: [name])
  }

  /// Returns the definitions of everything except tables.
  fileprivate func others() throws -> [String] {
    try texts(
      """
      SELECT sql FROM (SELECT * FROM sqlite_schema UNION ALL SELECT * FROM temp.sqlite_schema)
      WHERE type <> 'table' AND sql IS NOT NULL ORDER BY type, name
      """)
  }

  /// Returns all definitions and rows.
  fileprivate func everything() throws -> [String] {
    var result = try texts(
      "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND tbl_name NOT LIKE 'grdb%' ORDER BY type, name")
    for table in try texts(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'grdb%' ORDER BY 1"
    ) {
      result += try Row.fetchAll(self, sql: "SELECT * FROM \"\(table)\"").map(\.description).sorted()
    }
    return result
  }
}
