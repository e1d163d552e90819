// swift-tools-version: 6.1
// Measures the Swift API beside GRDB. A package of its own, so that programs which depend on Motte and the test runs
// never fetch GRDB; `Benchmarks/SwiftBench/run.sh` builds and runs it.
import PackageDescription

let package = Package(
    name: "SwiftBench",
    dependencies: [
        .package(name: "motte", path: "../.."),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    ],
    targets: [
        .executableTarget(
            name: "SwiftBench",
            dependencies: [
                .product(name: "Motte", package: "motte"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
