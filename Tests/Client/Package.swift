// swift-tools-version:6.2
import PackageDescription

// An app as its developer would write it: one dependency, one import, and another to ask the node.
let package = Package(
  name: "Client",
  dependencies: [.package(name: "mesh", path: "../..")],
  targets: [
    .target(
      name: "Client",
      dependencies: [
        .product(name: "MeshControl", package: "mesh"), .product(name: "SQLiteData", package: "mesh"),
      ]),
    // The same in a module whose code is isolated to the main actor, as new app projects are.
    .target(
      name: "MainActorClient", dependencies: [.product(name: "SQLiteData", package: "mesh")],
      swiftSettings: [.defaultIsolation(MainActor.self)]),
    // Twenty tables, to measure what the macros cost: `swift build --target TwentyTables`.
    .target(name: "TwentyTables", dependencies: [.product(name: "SQLiteData", package: "mesh")]),
    .testTarget(
      name: "ClientTests",
      dependencies: [
        "Client", "MainActorClient", "TwentyTables", .product(name: "SQLiteData", package: "mesh"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
