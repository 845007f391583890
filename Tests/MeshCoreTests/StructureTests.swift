import Foundation
import Testing

/// Holds the sources to the sizes that a reader can take in: a type over all its files, and a function.
@Suite struct StructureTests {
  struct Bounds: CustomTestStringConvertible {
    let module: String
    var type = 700
    var function = 60
    var testDescription: String { module }
  }

  /// A module with bounds of its own exceeds the general ones. Lower them whenever it shrinks. The large types of
  /// SQLiteDataQueries are protocols without state, and their extensions are the words of queries.
  static let bounds = [
    Bounds(module: "MeshControl"), Bounds(module: "MeshCore"), Bounds(module: "MeshCrypto"),
    Bounds(module: "MeshNode"), Bounds(module: "MeshReplication"),
    Bounds(module: "MeshStore"), Bounds(module: "MeshTesting"),
    Bounds(module: "MeshTransport"), Bounds(module: "SQLiteData"),
    Bounds(module: "SQLiteDataMacros"), Bounds(module: "SQLiteDataQueries", type: 1_200), Bounds(module: "bench"),
    Bounds(module: "mesh"), Bounds(module: "simulate"),
  ]

  @Test("no type and no function exceeds the bounds of its module", arguments: bounds)
  func sizes(bounds: Bounds) throws {
    var types: [String: Int] = [:]
    for source in try sources(of: bounds.module) {
      for type in try source.types { types[type.name, default: 0] += type.lines }
      for function in try source.functions where function.lines > bounds.function {
        Issue.record("\(source.name): \(function.lines) lines, more than \(bounds.function): \(function.name)")
      }
    }
    #expect(!types.isEmpty)
    for (name, lines) in types where lines > bounds.type {
      Issue.record("\(name) has \(lines) lines in its files, more than \(bounds.type)")
    }
  }

  @Test("no two types of the sources share a name")
  func names() throws {
    var files: [String: [String]] = [:]
    for source in try sources(of: ".") where !source.name.hasPrefix("Examples/") {
      for name in try source.declaredTypes { files[name, default: []].append(source.name) }
    }
    #expect(files.count > 500)
    for (name, places) in files where places.count > 1 { Issue.record("\(name): \(places)") }
  }

  @Test("MeshCore imports nothing")
  func imports() throws {
    for source in try sources(of: "MeshCore") {
      #expect(try !source.hasImports, "\(source.name)")
    }
  }

  @Test("only the simulator and tests import the simulated disk and the hooks in SQLite's files")
  func testHooks() throws {
    let sources = try sources(of: ".")
    let importers = try sources.filter { try $0.importsModule("CSQLiteTesting") }.map(\.name)
    #expect(!importers.isEmpty && importers.allSatisfy { $0.hasPrefix("MeshTesting/") })
  }

  @Test(
    "a module that is no product has nothing public",
    arguments: ["MeshCore", "MeshCrypto", "MeshReplication", "MeshStore", "MeshTesting", "MeshTransport"])
  func access(module: String) throws {
    let sources = try sources(of: module)
    #expect(!sources.isEmpty)
    for source in sources { #expect(try !source.hasPublicDeclarations, "\(source.name)") }
  }

  /// A group of tables of mesh, and the type whose SQL may name them.
  struct Group {
    let type: String
    let tables: Set<String>
    /// The tables of other groups that its queries join, or nil for all. A query belongs to the group whose rows it
    /// selects, counts or changes.
    var joins: Set<String>? = []
  }

  static let groups = [
    Group(
      type: "AssetTable", tables: ["asset", "asset_use", "kept"], joins: ["author", "record", "table", "zone"]),
    Group(type: "ConflictTable", tables: ["conflict"], joins: ["author", "column", "zone"]),
    Group(type: "ControlTable", tables: ["account", "ack", "control"], joins: ["zone"]),
    Group(type: "ForeignSchemaTable", tables: ["foreign_schema"]),
    Group(type: "HeadTable", tables: ["head"], joins: ["author"]),
    Group(type: "HeldTable", tables: ["held", "wait"], joins: ["record"]),
    Group(type: "LogTable", tables: ["log", "order"], joins: ["head"]),
    Group(type: "NameTable", tables: ["author", "column", "layout", "named"], joins: ["zone"]),
    Group(type: "PendingTable", tables: ["pending", "run", "written"], joins: ["record", "table"]),
    Group(type: "PolicyTable", tables: ["policy"], joins: ["zone"]),
    Group(type: "ReceiptTable", tables: ["receipt"], joins: ["zone"]),
    Group(type: "RecordTable", tables: ["record"], joins: ["held", "table", "zone"]),
    Group(type: "StateTable", tables: ["guard", "state"]),
    // It finds the tables to which no row of any other table refers.
    Group(type: "TableList", tables: ["table"], joins: nil),
    Group(type: "WorkTable", tables: ["import", "recall", "rewrite", "show"], joins: ["log", "record", "zone"]),
    Group(type: "ZoneTable", tables: ["zone"], joins: ["pending"]),
  ]

  /// Files that create tables and triggers or change their format, and name all tables.
  static let definitions: Set = [
    "CaptureTriggers.swift", "MeshTables.swift", "MeshTables+Replication.swift", "PermissionTriggers.swift",
  ]

  @Test("the SQL of a table is in one type")
  func tables() throws {
    let owned = Self.groups.reduce(into: Set<String>()) { $0.formUnion($1.tables) }
    let created = try sources(of: "MeshStore").reduce(into: Set<String>()) { $0.formUnion($1.createdTables) }
    // Only the library SQLiteData uses these two.
    #expect(created.subtracting(owned) == ["app", "app_device"] && owned.isSubset(of: created))
    for source in try sources(of: "MeshStore") {
      let file = source.name.split(separator: "/").last.map(String.init) ?? ""
      if Self.definitions.contains(file) { continue }
      let group = Self.groups.first { source.name == "Tables/\($0.type).swift" }
      let named = try source.tables.intersection(owned)
        .subtracting(group.map { $0.joins?.union($0.tables) ?? owned } ?? [])
      #expect(named.isEmpty, "\(source.name)")
    }
  }

  @Test(
    "the counters of zones are read and saved in one place",
    arguments: [
      ("zoneRow", "Records/ZoneCounters.swift"), ("obtainRow", "Records/ZoneCounters.swift"),
      ("rowsWithRun", "Records/ZoneCounters.swift"),
      ("rowsAhead", "Records/ZoneCounters.swift"), ("saveRow", "Records/ZoneCounters.swift"),
      ("saveChanged", "Store/StoreAccess.swift"),
    ])
  func counters(function: String, file: String) throws {
    let callers = try sources(of: "MeshStore").filter { try $0.calls(function) > 0 }
    #expect(callers.map(\.name) == [file])
    // A zone is read by its name or its number.
    #expect(try callers.first?.calls(function) == (function == "zoneRow" ? 2 : 1))
  }

  private func sources(of module: String) throws -> [Source] {
    let folder = URL(filePath: #filePath).appending(path: "../../../Sources/\(module)").standardized
    let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
    return try paths.sorted().map { path in
      Source(name: path, try String(contentsOf: folder.appending(path: path), encoding: .utf8))
    }
  }
}

/// A file of Swift, as `swift format` leaves it: a declaration ends with a brace below its first letter.
private struct Source {
  private static let modifiers = #"(?:(?:(?!import )[a-z]+(?:\([a-z]+\))?|@\w+(?:\([^)\n]*\))?) )*"#
  private static let type = #"^\#(modifiers)(?:class|struct|enum|actor|protocol|extension) ([\w.]+)[^\n]*$"#
  private static let declaredType =
    #"^(?!(?:file)?private )\#(modifiers)(?:class|struct|enum|actor|protocol) (\w+)[^\n]*$"#
  /// A declaration goes on in lines that begin deeper, or with a closing parenthesis, until its body begins.
  private static let function =
    #"^( *)(\#(modifiers)(?:func |init[?(<]|subscript[(<]|var )[^\n]*)(?:\n\1[ )][^\n]*)*?(?<=\{)$"#

  let name: String
  private let string: String
  private let text: NSString

  init(name: String, _ string: String) { (self.name, self.string, text) = (name, string, NSString(string: string)) }

  var hasImports: Bool {
    get throws { try !matches(#"^\#(Self.modifiers)import "#).isEmpty }
  }

  func importsModule(_ module: String) throws -> Bool {
    try !matches(#"^\#(Self.modifiers)import \#(module)$"#).isEmpty
  }

  /// Returns the number of lines that call a method of another object.
  func calls(_ function: String) throws -> Int { try matches(#"^(?! *//).*\.\#(function)\("#).count }

  var hasPublicDeclarations: Bool {
    get throws { try !matches(#"^(?! *//)(?:.* )?public "#).isEmpty }
  }

  /// The tables of mesh that the file creates.
  var createdTables: Set<String> {
    Set(string.matches(of: /CREATE (?:TEMP )?TABLE IF NOT EXISTS mesh_(\w+)/).map { String($0.1) })
  }

  /// The tables of mesh that the file names outside of comments.
  var tables: Set<String> {
    get throws {
      Set(
        try matches(#"^(?! *//).*?\bmesh_\w+.*$"#).flatMap { line in
          text.substring(with: line.range).matches(of: /\bmesh_(\w+)/).map { String($0.1) }
        })
    }
  }

  /// The types and extensions at the top of the file, with their numbers of lines.
  var types: [(name: String, lines: Int)] {
    get throws {
      try matches(Self.type).map { match in
        (text.substring(with: match.range(at: 1)), try lines(of: match.range, indent: ""))
      }
    }
  }

  /// The names of the types at the top of the file that other files can use.
  var declaredTypes: [String] {
    get throws { try matches(Self.declaredType).map { text.substring(with: $0.range(at: 1)) } }
  }

  /// The functions and computed properties, with their numbers of lines. Those on one line are left out.
  var functions: [(name: String, lines: Int)] {
    get throws {
      try matches(Self.function).map { match in
        let indent = text.substring(with: match.range(at: 1))
        return (text.substring(with: match.range(at: 2)), try lines(of: match.range, indent: indent))
      }
    }
  }

  /// Returns the number of lines of a declaration.
  ///
  /// - Parameter head: The declaration as far as the beginning of its body.
  private func lines(of head: NSRange, indent: String) throws -> Int {
    let isOnOneLine = text.substring(with: head).hasSuffix("}")
    let rest = NSRange(location: NSMaxRange(head), length: text.length - NSMaxRange(head))
    let end = isOnOneLine ? head : text.range(of: "\n\(indent)}", options: .literal, range: rest)
    guard end.location != NSNotFound else { throw CocoaError(.formatting) }
    let whole = NSRange(location: head.location, length: NSMaxRange(end) - head.location)
    return text.substring(with: whole).utf8.count { $0 == UInt8(ascii: "\n") } + 1
  }

  private func matches(_ pattern: String) throws -> [NSTextCheckingResult] {
    try NSRegularExpression(pattern: pattern, options: .anchorsMatchLines)
      .matches(in: string, range: NSRange(location: 0, length: text.length))
  }
}
