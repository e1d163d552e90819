// swift-tools-version: 6.1
// The list of layers as code: every target and what it may import. A layer imports only layers below it; see
// docs/ARCHITECTURE.md.
import PackageDescription

func layer(_ folder: String, on layers: [String] = [], c: [String] = []) -> Target {
    .target(
        name: "Motte" + folder,
        dependencies: layers.map { .target(name: "Motte" + $0) } + c.map { .target(name: $0) },
        path: "Sources/" + folder)
}

func tests(_ folder: String, on targets: [String]) -> Target {
    .testTarget(
        name: folder,
        dependencies: (targets + ["TestSupport"]).map { .target(name: $0) },
        path: "Tests/" + folder,
        exclude: folder == "ConformanceTests" ? ["conformance-skips.txt"] : [])
}

let allLayers = [
    "Values", "Pages", "Columns", "SchemaModel", "Storage", "QueryEngine", "LiveObjects", "Notifications", "RealmFile",
    "Exchange",
]

// Sanitized builds test the engine alone: without the language bindings there are fewer modules to compile
// (scripts/test.sh).
let isEngineOnly = Context.environment["MOTTE_ENGINE_ONLY"] == "1"

let live = ["MotteLiveObjects", "MotteQueryEngine", "MotteStorage", "MotteSchemaModel", "MotteValues"]

// Where the network is not to be asked, MOTTE_PACKAGES names a folder with the sources of both packages
// (docs/RELEASING.md).
let packages: [Package.Dependency]
if let folder = Context.environment["MOTTE_PACKAGES"] {
    packages = ["swift-argument-parser", "OpenCombine"].map { .package(name: $0, path: folder + "/" + $0) }
} else {
    packages = [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
    ]
}

// Calls of the C library that know the size of what they write to check it.
let hardened: [CSetting] = [.define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release))]

let package = Package(
    name: "motte",
    products: [
        .library(name: "Motte", targets: ["Motte"]),
        .library(name: "RealmSwift", targets: ["RealmSwift"]),
        .library(name: "motte", type: .dynamic, targets: ["MotteCExports"]),
        .executable(name: "motte-tool", targets: ["MotteTool"]),
    ],
    dependencies: packages,
    targets: [
        // Layer 0: C.
        .systemLibrary(name: "CMotte", path: "include"),
        .target(name: "CMotteShim", path: "Sources/CMotteShim", cSettings: hardened),
        .target(name: "CMotteNats", dependencies: ["CMotteShim"], path: "Sources/CMotteNats", cSettings: hardened),
        .target(
            name: "CMottePostgres", dependencies: ["CMotteShim"], path: "Sources/CMottePostgres", cSettings: hardened),

        // Layers 1 to 6: the engine. No Foundation.
        layer("Values", c: ["CMotteShim"]),
        layer("Pages", on: ["Values"], c: ["CMotteShim"]),
        layer("Columns", on: ["Values"], c: ["CMotteShim"]),
        layer("SchemaModel", on: ["Values"]),
        layer("Storage", on: ["Pages", "Columns", "SchemaModel", "Values"], c: ["CMotteShim"]),
        layer("QueryEngine", on: ["Storage", "Columns", "SchemaModel", "Values"]),
        layer("LiveObjects", on: ["QueryEngine", "Storage", "SchemaModel", "Columns", "Values"], c: ["CMotteShim"]),
        layer(
            "Notifications", on: ["LiveObjects", "QueryEngine", "Storage", "SchemaModel", "Values"],
            c: ["CMotteShim"]),
        layer("RealmFile", on: ["Values"], c: ["CMotteShim"]),
        layer(
            "Exchange",
            on: ["RealmFile", "LiveObjects", "QueryEngine", "Storage", "SchemaModel", "Columns", "Values"],
            c: ["CMotteShim"]),

        layer(
            "Replication", on: ["LiveObjects", "Storage", "SchemaModel", "Values"],
            c: ["CMotteNats", "CMottePostgres", "CMotteShim"]),

        // Layer 7: the language bindings.
        .target(
            name: "Motte",
            dependencies: [
                "MotteExchange", "MotteNotifications", "MotteLiveObjects", "MotteQueryEngine", "MotteStorage",
                "MotteColumns", "MotteSchemaModel", "MotteValues", "CMotteShim",
                .product(name: "OpenCombine", package: "OpenCombine"),
            ],
            path: "Sources/Motte"),
        layer(
            "CExports",
            on: ["Exchange", "Notifications", "LiveObjects", "QueryEngine", "Storage", "SchemaModel", "Values"],
            c: ["CMotte", "CMotteShim"]),
        .executableTarget(
            name: "MotteTool",
            dependencies: [
                "MotteReplication", "MotteExchange", "MotteRealmFile", "MotteNotifications", "MotteLiveObjects",
                "MotteQueryEngine", "MotteStorage", "MotteSchemaModel", "MotteValues", "CMotteShim",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/Tool"),

        // Layer 8.
        .target(name: "RealmSwift", dependencies: ["Motte"], path: "Sources/RealmSwift"),

        // Tests.
        .target(
            name: "MotteFuzz",
            dependencies: (allLayers.map { "Motte" + $0 } + ["CMotteShim"]).map { .target(name: $0) },
            path: "Fuzz",
            exclude: ["kept", "run.sh"]),
        .target(
            name: "TestSupport",
            dependencies: allLayers.map { .target(name: "Motte" + $0) },
            path: "Tests/TestSupport"),
        .target(name: "MisuseSupport", dependencies: ["Motte", "MotteValues"], path: "Tests/MisuseSupport"),
        tests("ValuesTests", on: ["MotteValues"]),
        tests("PagesTests", on: ["MottePages", "MotteValues"]),
        tests("ColumnsTests", on: ["MotteColumns", "MotteValues"]),
        tests("SchemaModelTests", on: ["MotteSchemaModel", "MotteValues"]),
        tests("StorageTests", on: ["MotteStorage", "MottePages", "MotteColumns", "MotteSchemaModel", "MotteValues"]),
        tests("QueryEngineTests", on: ["MotteQueryEngine", "MotteStorage", "MotteSchemaModel", "MotteValues"]),
        tests("LiveObjectsTests", on: live),
        tests("NotificationsTests", on: ["MotteNotifications", "MottePages"] + live),
        tests("RealmFileTests", on: ["MotteExchange", "MotteRealmFile"] + live),
        tests("ReplicationTests", on: ["MotteReplication"] + live),
        tests("ExchangeTests", on: ["MotteExchange"] + live),
        .testTarget(
            name: "MotteTests",
            dependencies: [
                "Motte", "MotteQueryEngine", "MotteSchemaModel", "MotteValues", "TestSupport", "MisuseSupport",
                .product(name: "OpenCombine", package: "OpenCombine"),
                .product(name: "OpenCombineDispatch", package: "OpenCombine"),
            ], path: "Tests/MotteTests"),
        tests(
            "ConformanceTests",
            // Through the Swift API, too, where there is one.
            on: (isEngineOnly ? [] : ["Motte", "MisuseSupport"])
                + ["MotteExchange", "MotteRealmFile", "MotteNotifications"] + live),
        tests("FuzzTests", on: ["MotteFuzz"]),
        tests("CExportsTests", on: ["MotteCExports", "MotteValues"]),
    ],
    swiftLanguageModes: [.v6]
)

// Benchmarks stand beside other engines, whose headers nothing else needs (Benchmarks/run.sh).
if Context.environment["MOTTE_BENCHMARKS"] == "1" {
    package.targets += [
        .systemLibrary(
            name: "CLMDB", path: "Benchmarks/CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
        .systemLibrary(
            name: "CSQLite", path: "Benchmarks/CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .executableTarget(
            name: "MotteBench",
            dependencies: ["CLMDB", "CSQLite"] + allLayers.map { .target(name: "Motte" + $0) },
            path: "Benchmarks/MotteBench"),
    ]
}

if isEngineOnly {
    let bindings: Set = [
        "CMotte", "Motte", "MotteCExports", "MotteTool", "RealmSwift", "MotteTests", "CExportsTests", "MisuseSupport",
    ]
    package.products = []
    package.dependencies = []
    package.targets.removeAll { bindings.contains($0.name) }
}

// `MOTTE_TEST_TARGETS="StorageTests PagesTests"` builds those tests only: the optimised build of `make soak` does so,
// and somebody who works on one module.
if let chosen = Context.environment["MOTTE_TEST_TARGETS"] {
    let names = Set(chosen.split(separator: " ").map(String.init))
    package.targets.removeAll { $0.isTest && !names.contains($0.name) }
}
