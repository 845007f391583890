// swift-tools-version:6.1
import CompilerPluginSupport
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

/// Simulated meshes take half the time if the modules that they execute are optimised. The tools that run tests set the
/// variable. It is not the default, because SwiftPM refuses a dependency with such a flag.
let simulated =
  strict + (Context.environment["MESH_OPTIMISED"] == "1" ? [.unsafeFlags(["-O"], .when(configuration: .debug))] : [])

let package = Package(
  name: "mesh",
  products: [
    .executable(name: "mesh", targets: ["mesh"]),
    .executable(name: "simulate", targets: ["simulate"]),
    .library(name: "MeshControl", targets: ["MeshControl"]),
    .library(name: "MeshNode", targets: ["MeshNode"]),
    .library(name: "Dependencies", targets: ["Dependencies"]),
    .library(name: "DependenciesTestSupport", targets: ["DependenciesTestSupport"]),
    .library(name: "SQLiteData", targets: ["SQLiteData"]),
    .library(name: "SQLiteDataTestSupport", targets: ["SQLiteDataTestSupport"]),
  ],
  dependencies: [
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
    .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
    .package(url: "https://github.com/pointfreeco/swift-custom-dump", from: "1.7.3"),
    .package(url: "https://github.com/pointfreeco/xctest-dynamic-overlay", from: "1.13.1"),
  ],
  targets: [
    // libsodium, the only source of cryptographic primitives.
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),
    // What GRDB does not show of SQLite: VFS, variadic configuration, the raw statement interface.
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    // The simulated disk, and hooks in SQLite's files. Only MeshTesting and tests import it.
    .systemLibrary(name: "CSQLiteTesting", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    // What two nodes must agree on, and the seams: values, merge, change sets, control log, wire codec. Imports nothing.
    .target(name: "MeshCore", swiftSettings: simulated),
    // Keys, certificates, signing, sealing, the Noise handshake. Never sees GRDB or NIO.
    .target(name: "MeshCrypto", dependencies: ["CSodium", "MeshCore"], swiftSettings: simulated),
    // Capture, change log, merge and materialisation in SQLite. Never sees NIO or libsodium.
    .target(
      name: "MeshStore",
      dependencies: ["CSQLite", "MeshCore", .product(name: "GRDB", package: "GRDB.swift")],
      swiftSettings: simulated),
    // Listening, dialling, framing, encrypted sessions. Never sees GRDB.
    .target(
      name: "MeshTransport",
      dependencies: [
        "MeshCore", "MeshCrypto",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    // The conversation with a peer as a value, and authorization. Never sees GRDB, NIO or libsodium.
    .target(name: "MeshReplication", dependencies: ["MeshCore"], swiftSettings: simulated),
    // Requests to a node, their answers, and the client of a daemon. Never sees GRDB, NIO or libsodium: apps link it.
    .target(name: "MeshControl", dependencies: ["MeshCore"], swiftSettings: strict),
    // Where the siblings meet: one node, its home, its life cycle, its control interface.
    .target(
      name: "MeshNode",
      dependencies: [
        "MeshControl", "MeshCore", "MeshCrypto", "MeshStore", "MeshTransport", "MeshReplication",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "TOMLKit", package: "TOMLKit"),
      ],
      swiftSettings: strict),
    // Replication on the real store under virtual time and one seed: network, clock, faults, checkers. No NIO.
    .target(
      name: "MeshTesting",
      dependencies: [
        "CSQLite", "CSQLiteTesting", "MeshCore", "MeshCrypto", "MeshStore", "MeshReplication",
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      swiftSettings: simulated),
    // `@Table`, `#sql` and the other macros, a plug-in of the compiler. Nothing of it is linked into a program.
    .macro(
      name: "SQLiteDataMacros",
      dependencies: [
        .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
        .product(name: "SwiftDiagnostics", package: "swift-syntax"),
        .product(name: "SwiftParser", package: "swift-syntax"),
        .product(name: "SwiftSyntax", package: "swift-syntax"),
        .product(name: "SwiftSyntaxBuilder", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
      ],
      swiftSettings: strict),
    // Tables, expressions and statements as SQL with bindings. No database driver, imports Foundation only.
    .target(name: "SQLiteDataQueries", dependencies: ["SQLiteDataMacros"], swiftSettings: strict),
    // Queries run on GRDB, observed properties, database functions, the default database, and the sync engine, which runs a node.
    // Re-exports what an app needs.
    .target(
      name: "SQLiteData",
      dependencies: [
        "CSodium", "Dependencies", "MeshControl", "MeshCore", "MeshNode", "MeshStore", "MeshTransport",
        "SQLiteDataQueries",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
        .product(name: "IssueReporting", package: "xctest-dynamic-overlay"),
        .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    // Assertions about queries for the tests of an app.
    .target(
      name: "SQLiteDataTestSupport",
      dependencies: [
        "Dependencies", "DependenciesTestSupport", "SQLiteData", "SQLiteDataQueries",
        .product(name: "CustomDump", package: "swift-custom-dump"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "IssueReporting", package: "xctest-dynamic-overlay"),
      ],
      swiftSettings: strict),
    // An example: the reminders in a terminal, shown live.
    .executableTarget(
      name: "Reminders", dependencies: ["SQLiteData"], path: "Sources/Examples/Reminders", swiftSettings: strict),
    // Counts allocations for the benchmark of queries.
    .target(name: "CAllocations"),
    // Queries beside the C interface of SQLite and beside GRDB; `tools/bench queries` builds and runs it. Not a product.
    .executableTarget(
      name: "bench-queries",
      dependencies: [
        "CAllocations", "SQLiteData", .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ],
      swiftSettings: strict),
    // The executable: the daemon and the verbs.
    .executableTarget(
      name: "mesh",
      dependencies: [
        "MeshControl", "MeshCore", "MeshNode",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ],
      swiftSettings: strict),
    // The simulator's command line; `tools/simulate` runs it.
    .executableTarget(
      name: "simulate",
      dependencies: ["MeshTesting", .product(name: "ArgumentParser", package: "swift-argument-parser")],
      swiftSettings: strict),
    // The benchmark: figures beside what runs under them, in one run; `tools/bench` builds and runs it. Not a product.
    .executableTarget(
      name: "bench",
      dependencies: ["CSodium", "CSQLite", .product(name: "ArgumentParser", package: "swift-argument-parser")],
      swiftSettings: strict),
    // Values that a program sets once and a test replaces: the default database, the date, UUIDs. Imports nothing of mesh.
    .target(
      name: "Dependencies",
      dependencies: [.product(name: "IssueReporting", package: "xctest-dynamic-overlay")], swiftSettings: strict),
    // The traits that set dependencies for a test.
    .target(
      name: "DependenciesTestSupport",
      dependencies: [
        "Dependencies", .product(name: "IssueReportingTestSupport", package: "xctest-dynamic-overlay"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "RemindersTests",
      dependencies: [
        "Dependencies", "DependenciesTestSupport", "Reminders", "SQLiteData", "SQLiteDataTestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "SQLiteDataTests",
      dependencies: [
        "Dependencies", "DependenciesTestSupport", "MeshControl", "MeshNode", "SQLiteData", "SQLiteDataQueries",
        "SQLiteDataTestSupport", .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"), .product(name: "Logging", package: "swift-log"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "DependenciesTests", dependencies: ["Dependencies", "DependenciesTestSupport"], swiftSettings: strict),
    .testTarget(
      name: "MeshCoreTests", dependencies: ["MeshCore", "MeshCrypto", "MeshTesting"], exclude: ["Vectors"],
      swiftSettings: strict),
    .testTarget(
      name: "MeshCryptoTests", dependencies: ["MeshCore", "MeshCrypto"], exclude: ["noise_peer.py"],
      swiftSettings: strict),
    .testTarget(
      name: "MeshStoreTests",
      dependencies: [
        "CSQLite", "CSQLiteTesting", "MeshCore", "MeshCrypto", "MeshStore", "MeshTesting",
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "MeshTransportTests",
      dependencies: [
        "MeshCore", "MeshCrypto", "MeshTransport",
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ],
      exclude: ["link_peer.py"],
      swiftSettings: strict),
    .testTarget(
      name: "MeshReplicationTests", dependencies: ["MeshCore", "MeshCrypto", "MeshReplication", "MeshTesting"],
      swiftSettings: strict),
    .testTarget(
      name: "SimulationTests",
      dependencies: [
        "MeshCore", "MeshCrypto", "MeshStore", "MeshTesting", "simulate", .product(name: "GRDB", package: "GRDB.swift"),
      ],
      exclude: ["Seeds"],
      swiftSettings: strict),
    .testTarget(
      name: "MeshNodeTests",
      dependencies: [
        "MeshControl", "MeshCore", "MeshNode",
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "Logging", package: "swift-log"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      exclude: ["answers.txt", "requests.txt"],
      swiftSettings: strict),
    // Compiles the macros' sources (a symbolic link) into itself. A test target that depends on a macro makes SwiftPM build
    // all tests, and all that they test, for the compiler's side, and so everything twice.
    .testTarget(
      name: "SQLiteDataMacrosTests",
      dependencies: [
        "SQLiteDataQueries",
        .product(name: "SwiftDiagnostics", package: "swift-syntax"),
        .product(name: "SwiftIDEUtils", package: "swift-syntax"),
        .product(name: "SwiftParser", package: "swift-syntax"),
        .product(name: "SwiftSyntax", package: "swift-syntax"),
        .product(name: "SwiftSyntaxBuilder", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax"),
        .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
      ],
      exclude: ["Macros/Plugin.swift"],
      swiftSettings: strict),
    .testTarget(name: "SQLiteDataQueriesTests", dependencies: ["SQLiteDataQueries"], swiftSettings: strict),
    .testTarget(
      name: "ProcessTests",
      dependencies: [
        "MeshControl", "MeshCore", "MeshNode", "SQLiteData", .product(name: "GRDB", package: "GRDB.swift"),
      ],
      swiftSettings: strict),
  ],
  swiftLanguageModes: [.v6]
)
